// Redeems the invitation: stores the key in this origin's storage, which no other origin can read.
localStorage.setItem("abacus-key", document.documentElement.dataset.key);
location.replace("/");
