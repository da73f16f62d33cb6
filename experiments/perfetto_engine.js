// Runs the trace processor of Perfetto's UI without a browser: requests come on standard input, answers go to standard
// output, both as the UI exchanges them with its worker. Run: node perfetto_engine.js FOLDER-OF-engine_bundle.js

"use strict";
const fs = require("fs");
const path = require("path");
const vm = require("vm");

const folder = process.argv[2];
const contentOf = (name) => fs.readFileSync(path.join(folder, path.basename(name)));

const port = {
  onmessage: null,
  postMessage(answer) {
    const bytes = Buffer.from(answer);
    for (let written = 0; written < bytes.length; ) {
      written += fs.writeSync(1, bytes, written);
    }
  },
};

// What the worker expects of a browser.
const say = (...words) => console.error(...words);
const worker = {
  console: { log: say, warn: say, error: say },
  location: { href: "http://localhost/" },
  navigator: {},
  performance,
  crypto,
  TextDecoder,
  TextEncoder,
  URL,
  setTimeout,
  clearTimeout,
  WorkerGlobalScope: class {},
  XMLHttpRequest: class {
    open(_method, name) {
      this.name = name;
    }
    send() {
      const bytes = contentOf(this.name);
      this.response = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
    }
  },
};
worker.self = worker;
vm.createContext(worker);
vm.runInContext(contentOf("engine_bundle.js").toString(), worker);
worker.onmessage({ data: port });

// Bytes must be of the worker's own kind.
const WorkerBytes = vm.runInContext("Uint8Array", worker);

process.stdin.on("data", (request) => port.onmessage({ data: new WorkerBytes(request) }));
