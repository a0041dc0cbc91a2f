// The way in: keeps the key where only this page can read it, not a page on another port.
localStorage.setItem("abacus-key", document.documentElement.dataset.key);
location.replace("/");
