"""Give Chromium's command line: nothing that it does of itself, and no way to the network but one it is given."""

from collections.abc import Iterator

_ALONE = (
    "headless=new",
    "remote-debugging-pipe",
    "no-startup-window",
    "no-first-run",
    "no-default-browser-check",
    "no-pings",
    "no-experiments",
    "noerrdialogs",
    "enable-automation",
    "mute-audio",
    "hide-scrollbars",
    "lang=en-US",
    "log-level=2",
    "password-store=basic",
    # What it would ask the network for by itself.
    "disable-background-networking",
    "disable-breakpad",
    "disable-client-side-phishing-detection",
    "disable-component-extensions-with-background-pages",
    "disable-component-update",
    "disable-crash-reporter",
    "disable-default-apps",
    "disable-domain-reliability",
    "disable-extensions",
    "disable-field-trial-config",
    "disable-sync",
    "metrics-recording-only",
    "safebrowsing-disable-auto-update",
    # What would wait for a person, or look for devices.
    "deny-permission-prompts",
    "disable-hang-monitor",
    "disable-notifications",
    "disable-print-preview",
    "disable-prompt-on-repost",
    "disable-remote-playback-api",
    "disable-search-engine-choice-screen",
    "disable-speech-api",
    # Several pages are open at once, and none of them is in front.
    "disable-back-forward-cache",
    "disable-background-timer-throttling",
    "disable-backgrounding-occluded-windows",
    "disable-ipc-flooding-protection",
    "disable-renderer-backgrounding",
    "autoplay-policy=no-user-gesture-required",
    # No graphics processor, and none in software: SwiftShader, which draws WebGL, runs outside the sandbox.
    "disable-gpu",
    "disable-software-rasterizer",
    "force-color-profile=srgb",
    # Bounds of what it keeps.
    "disk-cache-size=33554432",
    "renderer-process-limit=8",
)
_FEATURES_OFF = (
    "AutofillServerCommunication",
    "CertificateTransparencyComponentUpdater",
    "DestroyProfileOnBrowserClose",
    "DialMediaRouteProvider",
    "GlobalMediaControls",
    "HttpsUpgrades",
    "LensOverlay",
    "MediaRouter",
    "OptimizationHints",
    "PaintHolding",
    "Prerender2",
    "Translate",
    "WebRtcHideLocalIpsWithMdns",
    # Pages of the address bar, which nobody sees: they cost more than the page that is visited.
    "WebUIOmniboxAimPopup",
    "WebUIOmniboxPopup",
)
_OFF_THE_NETWORK = (
    "disable-quic",
    "dns-prefetch-disable",
    # The only names and addresses are those of the listening sockets.
    "host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    "proxy-bypass-list=<-loopback>",
    # No packet but through a proxy, which WebRTC has none for. It was called force-... before.
    "webrtc-ip-handling-policy=disable_non_proxied_udp",
    "force-webrtc-ip-handling-policy=disable_non_proxied_udp",
)


def chromium_flags(trusted_key: str, *, shared_memory: bool) -> tuple[str, ...]:
    """Return the flags but those of a single start: the profile's folder, and the proxy where nobody listens.

    ``trusted_key`` is the SHA-256 of a public key, in Base64: certificates of that key are trusted, whoever signed
    them. Without ``shared_memory``, files take the place of ``/dev/shm``.
    """
    return tuple(_flags(trusted_key, shared_memory))


def _flags(trusted_key: str, shared_memory: bool) -> Iterator[str]:
    for flag in (*_ALONE, *_OFF_THE_NETWORK):
        yield f"--{flag}"
    yield f"--disable-features={','.join(_FEATURES_OFF)}"
    if trusted_key:
        yield f"--ignore-certificate-errors-spki-list={trusted_key}"
    if not shared_memory:
        yield "--disable-dev-shm-usage"
