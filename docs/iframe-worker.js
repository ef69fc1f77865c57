// The search runs in a worker, and browsers start no workers from files. Where the site was opened
// from a disk, a hidden frame takes the worker's place: its script runs there as it would in a
// worker, with a window of its own. (mkdocs-material knows such a script by this file's name and
// would otherwise load one from another host.)

if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    #frame = document.createElement("iframe");
    #ready;

    constructor(address) {
      super();
      this.#frame.hidden = true;
      this.#ready = new Promise((resolve, reject) => {
        this.#frame.addEventListener("load", () => this.#start(address, resolve, reject), {
          once: true,
        });
      });
      // The first script of a page runs before there is a body, a worker may be made at any time.
      const attach = () => document.body.append(this.#frame);
      if (document.body) attach();
      else document.addEventListener("DOMContentLoaded", attach, { once: true });
    }

    #start(address, resolve, reject) {
      const inside = this.#frame.contentWindow;
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      const script = inside.document.createElement("script");
      script.src = new URL(address, location.href);
      script.addEventListener("load", () => resolve(inside));
      script.addEventListener("error", () => reject(new Error(`no script at ${script.src}`)));
      inside.document.body.append(script);
    }

    async postMessage(data) {
      const inside = await this.#ready;
      inside.dispatchEvent(new inside.MessageEvent("message", { data }));
    }

    terminate() {
      this.#frame.remove();
    }
  };
}
