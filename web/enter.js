// The way in: keeps the key where only this origin can read it.
localStorage.setItem("abacus-key", document.documentElement.dataset.key);
location.replace("/");
