// Runs in the world of the page, in each frame, before its first script. TELL is a binding that is gone afterwards.
(() => {
  "use strict";
  const tell = globalThis["TELL"];
  delete globalThis["TELL"];
  const { DOMException, Proxy } = globalThis;
  const refusing = (constructor, what) => new Proxy(constructor, {
    construct() {
      tell(what);
      throw new DOMException("Permission denied", "NotAllowedError");
    },
  });
  for (const name of ["RTCPeerConnection", "webkitRTCPeerConnection"]) {
    if (name in globalThis) {
      Object.defineProperty(globalThis, name, {
        value: refusing(globalThis[name], "webrtc"), configurable: true, enumerable: false, writable: true,
      });
    }
  }
  globalThis.print = function print() { tell("print"); };
})();
