"""Walls of many makes, and pages that only look like one.

All of them were written before anybody looked at the detection. What the pages of ``LOOKALIKES`` have in common with
walls is the markup and the words; they are fetched like others.
"""

from collections.abc import Mapping

from aahcrawler.seeds import Verdict
from benchmarks.liveweb_sites import ALL, KEYWORD, LINKS, LIST, Answer, Site, article, html, open_site, redirect, walled
from benchmarks.trap_sites import prose

_REF = "18.2d351ab8.1557333295.a4e16ab"


def _full(title: str, body: str, head: str = "", lang: str = "en", status: int = 200) -> Answer:
    return Answer(html(body, head, title, lang), status)


def _everywhere(verdict: Verdict, page: Answer) -> Site:
    """Return a site that answers everything with one page."""
    return Site(verdict, {"/": page, "/robots.txt": Answer("", 404)}, frozenset({"/"}), other=page)


def _behind(verdict: Verdict, target: str, page: Answer) -> Site:
    """Return a site that sends everything to one page, at a path of its own."""
    path = target.partition("?")[0]
    sent = redirect(target)
    return Site(verdict, {"/": sent, path: page, "/robots.txt": Answer("", 404)}, frozenset({"/", target}), other=sent)


CHALLENGES: Mapping[str, Site] = {
    "challenge-turnstile": _everywhere(
        Verdict.CHALLENGE,
        _full(
            "Attention Required!",
            "<div class='main-wrapper'><h2>Verify you are human by completing the action below.</h2>"
            "<div class='cf-turnstile' data-sitekey='0x4AAA' data-callback='done'></div>"
            "<p>news.example.org needs to review the security of your connection before proceeding.</p></div>"
            "<noscript>Enable JavaScript and cookies to continue</noscript>",
            "<script src='/turnstile/v0/api.js' async defer></script>",
            status=403,
        ),
    ),
    "challenge-frame": _everywhere(
        Verdict.CHALLENGE,
        Answer(
            "<html style='height:100%'><head><META NAME='ROBOTS' CONTENT='NOINDEX, NOFOLLOW'></head>"
            "<body style='margin:0;height:100%'><iframe id='main-iframe' "
            "src='/_Incapsula_Resource?CWUDNSAI=23&incident_id="
            "123-456&edet=12' frameborder=0 width='100%' height='100%'>Request unsuccessful. Incapsula incident ID: "
            "123000456-789</iframe></body></html>"
        ),
    ),
    "challenge-press": _everywhere(
        Verdict.CHALLENGE,
        _full(
            "Access to this page has been denied",
            "<div class='px-captcha-container'><div class='px-captcha-header'>Before we continue...</div>"
            "<div class='px-captcha-message'>Press &amp; Hold to confirm you are a human (and not a bot).</div>"
            "<div id='px-captcha'></div><div>Reference ID 0a1b2c</div></div>"
            "<script>window._pxAppId='PXabc';window._pxVid='';</script>",
            status=403,
        ),
    ),
    "challenge-slider": _everywhere(
        Verdict.CHALLENGE,
        Answer(
            "<html lang=en><head><title>news.example.org</title><style>#cmsg{animation:A 1.5s}</style></head><body>"
            "<p id=cmsg>Please enable JS and disable any ad blocker</p><script data-cfasync=false>var dd={'rt':'c',"
            "'cid':'AHrlqAAAA','hsh':'ABCD','t':'bv','s':17434,'host':'geo.captcha-delivery.com'}</script></body></html>",
            403,
        ),
    ),
    "challenge-accepted": _everywhere(
        Verdict.CHALLENGE,
        Answer(
            "<!doctype html><html><head><title></title><script>window.awsWafCookieDomainList=[];window.gokuProps={}"
            "</script><script src='/challenge.js'></script></head><body><div id='challenge-container'></div>"
            "<script>AwsWafIntegration.getToken().then(()=>{window.location.reload(true);});</script>"
            "<noscript><h1>JavaScript is disabled</h1>In order to continue, we need to verify that you're not a "
            "robot. "
            "This requires JavaScript.</noscript></body></html>",
            202,
            (("Content-Type", "text/html"), ("x-amzn-waf-action", "challenge")),
        ),
    ),
    "challenge-own-de": _everywhere(
        Verdict.CHALLENGE,
        _full(
            "Sicherheitsabfrage",
            "<h1>Sicherheitsabfrage</h1><p>Von Ihrem Anschluss kamen ungew&ouml;hnlich viele Anfragen. Bitte "
            "geben Sie "
            "die Zeichen aus dem Bild ein, um zu best&auml;tigen, dass Sie kein Roboter sind.</p><form method=post>"
            "<img src='/captcha.php?i=17' alt='Sicherheitscode'><input name=code><button>Weiter</button></form>",
            lang="de",
        ),
    ),
    "challenge-own-fr": _everywhere(
        Verdict.CHALLENGE,
        _full(
            "Vérification",
            "<h2>Vérification de sécurité</h2><p>Veuillez confirmer que vous n'êtes pas un robot pour continuer.</p>"
            "<form action='/verifier' method=post><label>Combien font trois plus quatre ?<input name=reponse></label>"
            "<button>Valider</button></form>",
            lang="fr",
            status=429,
        ),
    ),
    "challenge-proof-of-work": _everywhere(
        Verdict.CHALLENGE,
        _full(
            "Making sure you're not a bot!",
            "<main><h1 id='title'>Making sure you're not a bot!</h1><img src='/x/static/pensive.webp'>"
            "<p id='status'>Loading...</p><details><summary>Why am I seeing this?</summary><p>You are seeing "
            "this because "
            "the administrator of this website has set up a proof-of-work scheme to protect the server against "
            "the scourge "
            "of companies that scrape websites without asking.</p></details><noscript><p>Sadly, you must enable "
            "JavaScript to get past this challenge.</p></noscript></main>"
            "<script type=module src='/x/static/main.mjs'></script>"
            "<script id='challenge' type='application/json'>{\"difficulty\":4}</script>",
        ),
    ),
    "challenge-reload": _everywhere(
        Verdict.CHALLENGE,
        Answer(
            "<html><title>You are being redirected...</title><noscript>Javascript is required. Please enable "
            "javascript "
            "before you are allowed to see this page.</noscript><script>var s={},u,c,U,r,i,l=0,a,e=eval,w=String."
            "fromCharCode,S='cz0iZSIuY2hhckF0KDApO2RvY3VtZW50LmNvb2tpZT0=';document.cookie='gate='+s;location.reload();"
            "</script></html>"
        ),
    ),
}

_LOREM = f"<h1>The {KEYWORD} news</h1>"

CONSENTS: Mapping[str, Site] = {
    "consent-onetrust": walled(
        Verdict.CONSENT,
        "<div id='onetrust-consent-sdk'><div class='onetrust-pc-dark-filter'></div><div id='onetrust-banner-sdk' "
        "role=region aria-label='Cookie banner'><div id='onetrust-policy'><h2 id='onetrust-policy-title'>We and "
        "our 812 "
        "partners value your privacy</h2><div id='onetrust-policy-text'>We store and/or access information on a "
        "device, "
        "such as unique IDs, to process personal data. You may accept or manage your choices at any time. <a "
        "href='/privacy'>More information</a></div></div><div id='onetrust-button-group'><button "
        "id='onetrust-pc-btn-handler'>Manage preferences</button><button id='onetrust-accept-btn-handler'>Accept All"
        "</button></div></div></div>",
    ),
    "consent-sourcepoint": walled(
        Verdict.CONSENT,
        "<div id='sp_message_container_783' style='display:block'><iframe id='sp_message_iframe_783' "
        "title='SP Consent Message' "
        "src='https://cmp.example.org/index.html?message_id=783&consentUUID=1'></iframe></div>",
        "<script>window._sp_={config:{accountId:1,baseEndpoint:'https://cmp.example.org'}};window.__tcfapi=function(){}"
        "</script><script src='https://cmp.example.org/wrapperMessagingWithoutDetection.js' async></script>",
    ),
    "consent-usercentrics": walled(
        Verdict.CONSENT,
        "<div id='usercentrics-root'></div><div "
        "class='uc-privacy-wall'><h2>Privatsph&auml;re-Einstellungen</h2><p>Diese "
        "Seite nutzt Website-Tracking-Technologien von Dritten, um ihre Dienste anzubieten und Werbung "
        "entsprechend der "
        "Interessen der Nutzer anzuzeigen.</p><button data-testid='uc-accept-all-button'>Alles akzeptieren</button>"
        "<button data-testid='uc-deny-all-button'>Ablehnen</button><a href='/impressum'>Impressum</a></div>",
        "<script id='usercentrics-cmp' data-settings-id='x' src='https://app.example.org/loader.js' async></script>",
    ),
    "consent-didomi": walled(
        Verdict.CONSENT,
        "<div id='didomi-host'><div class='didomi-popup-container didomi-popup-notice'><div "
        "class='didomi-popup-view'>"
        "<p>Con su acuerdo, nosotros y nuestros 215 socios usamos cookies o tecnolog&iacute;as similares para "
        "almacenar, "
        "acceder y procesar datos personales como su visita a este sitio web.</p><button "
        "id='didomi-notice-learn-more-button'>Saber m&aacute;s</button><button "
        "id='didomi-notice-agree-button'>Aceptar y "
        "cerrar</button></div></div></div>",
    ),
    "consent-quantcast": walled(
        Verdict.CONSENT,
        "<div id='qc-cmp2-container' class='qc-cmp2-container'><div id='qc-cmp2-main'><div "
        "id='qc-cmp2-ui'><h2>We value "
        "your privacy</h2><p>We and our partners store or access information on devices, such as cookies and process "
        "personal data for the purposes described below. You may click to consent to our processing.</p><div "
        "class='qc-cmp2-summary-buttons'><button mode=secondary>MORE OPTIONS</button><button "
        "mode=primary>AGREE</button>"
        "</div></div></div></div>",
    ),
    "consent-cookiebot": walled(
        Verdict.CONSENT,
        "<div id='CybotCookiebotDialog' role=dialog><h2 id='CybotCookiebotDialogBodyContentTitle'>Denne "
        "hjemmeside bruger "
        "cookies</h2><div id='CybotCookiebotDialogBodyContentText'>Vi bruger cookies til at tilpasse vores "
        "indhold og "
        "annoncer. Vi deler ogs&aring; oplysninger om din brug af vores hjemmeside med vores partnere.</div><button "
        "id='CybotCookiebotDialogBodyLevelButtonLevelOptinAllowAll'>Tillad alle</button><button "
        "id='CybotCookiebotDialogBodyButtonDecline'>Afvis</button></div>",
    ),
    "consent-pay-or-ok": walled(
        Verdict.CONSENT,
        "<main class=gate><h1>Hafenblatt lesen</h1><section><h2>Mit Werbung weiterlesen</h2><p>Besuchen Sie "
        "unsere Seite "
        "wie gewohnt mit Werbung und Tracking. Die Zustimmung ist jederzeit widerrufbar.</p><button>Akzeptieren "
        "und weiter"
        "</button></section><section><h2>Hafenblatt Pur</h2><p>Ohne Werbetracking f&uuml;r 4,99 &euro; im "
        "Monat.</p><a "
        "href='/pur/abo'>Pur abonnieren</a></section><footer><a href='/datenschutz'>Datenschutz</a> <a "
        "href='/agb'>AGB"
        "</a></footer></main>",
    ),
    "consent-gate-nl": _behind(
        Verdict.CONSENT,
        "/privacy-gate/accept?redirectUri=%2F",
        _full(
            "Privacy",
            "<h1>Uw privacy</h1><p>Om u een goede ervaring te bieden gebruiken wij en onze partners cookies. Klik op "
            "akkoord om door te gaan naar de website.</p><form method=post "
            "action='/privacy-gate/accept'><button>Akkoord"
            "</button></form><a href='/privacy-gate/settings'>Instellingen wijzigen</a>",
            lang="nl",
        ),
    ),
    "consent-gate-it": walled(
        Verdict.CONSENT,
        "<div class=iubenda-cs-container><div class=iubenda-cs-content><p>Noi e terze parti selezionate utilizziamo "
        "cookie o tecnologie simili. Puoi liberamente prestare, rifiutare o revocare il tuo consenso.</p><button "
        "class=iubenda-cs-accept-btn>Accetta</button><button class=iubenda-cs-reject-btn>Rifiuta</button><p>Oppure "
        "<a href='/abbonati'>abbonati</a> per continuare senza accettare.</p></div></div>",
    ),
}


def _bounced(target: str, headers: Mapping[str, str]) -> Answer:
    """Send everybody without a cookie by a page that sets it, and back."""
    if "visit=" in headers.get("cookie", ""):
        return Answer(html(LIST)) if target == "/" else article(target)
    if target.startswith("/set-cookie"):
        return redirect("/", 302, ("Set-Cookie", "visit=8af3; Path=/; HttpOnly"))
    return redirect("/set-cookie?to=%2F")


COOKIE_WALLS: Mapping[str, Site] = {
    "cookie-disabled": walled(
        Verdict.COOKIE_WALL,
        "<h1>Cookies are disabled</h1><p>Your browser is not accepting cookies. Please enable cookies in your "
        "browser's "
        "settings, then <a href='/'>try again</a>.</p>",
    ),
    "cookie-disabled-fr": walled(
        Verdict.COOKIE_WALL,
        "<h2>Les cookies sont désactivés</h2><p>Votre navigateur n'accepte pas les cookies. Activez les cookies pour "
        "accéder à ce site.</p>",
        status=403,
    ),
    "cookie-redirected": _behind(
        Verdict.COOKIE_WALL,
        "/nocookies.html",
        _full("Cookies required", "<p>Cookies must be enabled to use this site.</p><a href='/'>Back</a>"),
    ),
}

_SECRET = "<input type=password name=pw>"  # noqa: S105  # a field of a form

LOGINS: Mapping[str, Site] = {
    "login-vbulletin": walled(
        Verdict.LOGIN,
        "<table class=tborder><tr><td class=tcat>vBulletin Message</td></tr><tr><td class=panelsurround>You are "
        "not logged "
        "in or you do not have permission to access this page. This could be due to one of several "
        "reasons:<ol><li>You "
        "are not logged in. Fill in the form at the bottom of this page and try again.</li><li>You may not have "
        "sufficient privileges to access this page.</li></ol><form action='login.php?do=login' method=post>User "
        "Name: "
        f"<input name=vb_login_username> Password: {_SECRET}<a href='/login.php?do=lostpw'>Forgotten Your "
        "Password?</a>"
        "<button>Log in</button></form>The administrator may have required you to <a "
        "href='/register.php'>register</a> "
        "before you can view this page.</td></tr></table>",
    ),
    "login-xenforo": walled(
        Verdict.LOGIN,
        "<h1 class='p-title-value'>Log in</h1><div class='blockMessage'>You must be logged-in to do that.</div><form "
        f"action='/login/login' method=post class=block><input name=login autocomplete=username>{_SECRET}<a "
        "href='/lost-password/'>Forgot your password?</a><button>Log in</button></form><a "
        "href='/register/'>Register now</a>",
        status=403,
    ),
    "login-phpbb": walled(
        Verdict.LOGIN,
        "<div id=page-body><form action='./ucp.php?mode=login' method=post id=login><div class=panel><h2 "
        "class='login-title'>Login</h2><p>The board requires you to be registered and logged in to view this "
        "forum.</p>"
        f"<label>Username:<input name=username></label><label>Password:{_SECRET}</label><a "
        "href='/ucp.php?mode=sendpass"
        "ord'>I forgot my password</a><input type=submit name=login value=Login></div></form><a "
        "href='/ucp.php?mode=terms'>"
        "Terms of use</a> <a href='/ucp.php?mode=privacy'>Privacy policy</a></div>",
    ),
    "login-discourse": walled(
        Verdict.LOGIN,
        "<div id=main-outlet class=wrap><div class='login-required body-page'><h1>Welcome to Harbour "
        "Talk</h1><p>Log in to "
        "your account or sign up to take part in this community.</p><a class='btn btn-primary login-button' "
        "href='/login'>Log In</a><a class='btn sign-up-button' href='/signup'>Sign Up</a></div></div>",
    ),
    "login-own-fr": walled(
        Verdict.LOGIN,
        "<h1>Espace réservé aux adhérents</h1><form method=post><label>Identifiant<input name=identifiant></label>"
        f"<label>Mot de passe{_SECRET}</label><button>Se connecter</button></form><a href='/oubli'>Mot de "
        "passe oublié "
        "?</a>",
    ),
    "login-keycloak": _behind(
        Verdict.LOGIN,
        "/auth/realms/harbour/protocol/openid-connect/auth?client_id=web&response_type=code&scope=openid",
        _full(
            "Sign in to harbour",
            "<div class=login-pf-page><h1 id='kc-page-title'>Sign in to your account</h1><form id='kc-form-login' "
            f"method=post><input id=username name=username>{_SECRET}<input id='kc-login' type=submit "
            "value='Sign In'>"
            "</form><div id='kc-registration'>New user? <a href='/auth/register'>Register</a></div></div>",
        ),
    ),
    "login-saml": _everywhere(
        Verdict.LOGIN,
        Answer(
            "<html><body onload='document.forms[0].submit()'><noscript><p><strong>Note:</strong> Since your "
            "browser does "
            "not support JavaScript, you must press the Continue button once to proceed.</p></noscript><form "
            "action='https://idp.example.org/idp/profile/SAML2/POST/SSO' method=post><input type=hidden "
            "name=RelayState "
            "value='ss:mem:1'><input type=hidden name=SAMLRequest value='PD94bWwgdmVyc2lvbj0='><noscript><input "
            "type=submit value=Continue></noscript></form></body></html>"
        ),
    ),
    "login-paywall": walled(
        Verdict.LOGIN,
        f"<header><a href='/'>The Harbour Post</a></header><article><h1>Dredging of the {KEYWORD} "
        f"begins</h1><p>The {KEYWORD} "
        "master said on Monday that the first of three dredgers had arrived...</p></article><section class=paywall>"
        "<h2>This article is for subscribers only</h2><p>Subscribe now to continue reading. Unlimited access from 1 "
        "&euro; a week.</p><a class=button href='/subscribe'>Subscribe</a><p>Already a subscriber? <a "
        "href='/account/login'>"
        "Log in</a></p></section>",
        '<script type=\'application/ld+json\'>{"@context":"https://schema.org","@type":"NewsArticle",'
        '"isAccessibleForFree":false,"hasPart":{"@type":"WebPageElement","isAccessibleForFree":false,'
        '"cssSelector":".paywall"}}</script>',
    ),
    "login-mediawiki": walled(
        Verdict.LOGIN,
        "<div id=content class=mw-body role=main><h1 id=firstHeading>Login required</h1><div "
        "id=bodyContent><p>Please <a "
        "href='/index.php?title=Special:UserLogin&amp;returnto=Main+Page'>log in</a> to view other "
        "pages.</p><p>Return to "
        "<a href='/index.php/Main_Page'>Main Page</a>.</p></div></div>",
    ),
    "login-protected-post": walled(
        Verdict.LOGIN,
        f"<article class='post-password-required'><h1>Protected: The {KEYWORD} plans</h1><form "
        "action='/wp-login.php?action="
        "postpass' class='post-password-form' method=post><p>This content is password protected. To view it "
        "please enter "
        f"your password below:</p><label>Password: {_SECRET}</label><input type=submit "
        "value=Enter></form></article>",
    ),
}

AGES: Mapping[str, Site] = {
    "age-buttons": walled(
        Verdict.AGE,
        "<div class='age-gate'><h1>Are you 18 or older?</h1><p>You must be of legal age to enter this website.</p><a "
        "href='/?age=ok'>Yes, enter</a> <a href='https://www.example.com/'>No, leave</a></div>",
    ),
    "age-birthday-de": walled(
        Verdict.AGE,
        "<form method=post action='/alterspruefung'><h2>Bist du schon 16?</h2><p>Um unsere Seite zu besuchen, "
        "musst du alt "
        "genug sein, um Bier zu trinken. Bitte gib dein Geburtsdatum ein.</p><input name=tag placeholder=TT><input "
        "name=monat placeholder=MM><input name=jahr placeholder=JJJJ><button>Best&auml;tigen</button></form>",
    ),
    "age-over18": _behind(
        Verdict.AGE,
        "/over18?dest=%2F",
        _full(
            "over 18?",
            "<h3>You must be over eighteen to view this community</h3><p>You must be at least eighteen years old "
            "to view "
            "this content. Are you over eighteen and willing to see adult content?</p><form method=post><button "
            "name=over18 "
            "value=no>no thank you</button><button name=over18 value=yes>continue</button></form>",
        ),
    ),
    "age-fr": walled(
        Verdict.AGE,
        "<section><h1>Avez-vous l'âge légal ?</h1><p>Vous devez être majeur pour accéder à ce site. L'abus "
        "d'alcool est "
        "dangereux pour la santé.</p><button>J'ai plus de 18 ans</button><button>J'ai moins de 18 "
        "ans</button></section>",
    ),
}

SCRIPTS: Mapping[str, Site] = {
    "script-react": walled(
        Verdict.SCRIPTS,
        "<noscript>You need to enable JavaScript to run this app.</noscript><div id=root></div><script "
        "src='/static/js/main.8f3a.chunk.js'></script>",
    ),
    "script-vue": walled(
        Verdict.SCRIPTS,
        "<noscript><strong>We're sorry but harbour-web doesn't work properly without JavaScript enabled. Please "
        "enable it "
        "to continue.</strong></noscript><div id=app></div><script src='/js/chunk-vendors.js'></script>",
    ),
    "script-angular": walled(
        Verdict.SCRIPTS,
        "<app-root><div class=spinner><div class=bounce1></div></div></app-root><script src='runtime.js' type=module>"
        "</script><script src='polyfills.js' type=module></script>",
        "<base href='/'><link rel=stylesheet href='styles.css'>",
    ),
    "script-next": walled(
        Verdict.SCRIPTS,
        "<div id='__next'></div><script id='__NEXT_DATA__' "
        'type=\'application/json\'>{"props":{"pageProps":{}},"page":'
        '"/","query":{},"buildId":"x1","nextExport":true}</script><script src=\'/_next/static/chunks/main.js\'>'
        "</script>",
    ),
    "script-shell": walled(
        Verdict.SCRIPTS,
        "<header><span class=logo>Harbour</span><button>Menu</button></header><main id=content><div "
        "class=skeleton></div>"
        "<div class=skeleton></div><p class=visually-hidden>Loading…</p></main><footer>© 2024 "
        "Harbour</footer><script "
        "src='/assets/index-4f.js' type=module></script>",
    ),
    "script-moves-on": _everywhere(
        Verdict.SCRIPTS, Answer("<html><head><script>window.location.href='/de/start.html';</script></head></html>")
    ),
    "script-written": _everywhere(
        Verdict.SCRIPTS,
        Answer(
            "<html><body><script>document.write(unescape('%3Ch1%3EHarbour%3C/h1%3E'));</script><script>var pages="
            f"{['x' * 40] * 60!r};pages.forEach(function(p){{document.write(p)}})</script></body></html>"
        ),
    ),
}

_MENU = "<nav><a href='/'>Home</a> <a href='/news'>News</a> <a href='/contact'>Contact</a></nav>"
_SEARCH = "<form action='/search'><input name=q><button>Search</button></form>"
_SOFT: Mapping[str, tuple[str, str, str]] = {
    "es": ("Página no encontrada", "Lo sentimos, la página que busca no existe o ha sido movida.", "es"),
    "pl": ("Nie znaleziono strony", "Przepraszamy, strona o podanym adresie nie istnieje.", "pl"),
    "ja": ("ページが見つかりません", "お探しのページは移動または削除された可能性があります。", "ja"),
    "sv": ("Sidan kunde inte hittas", "Sidan du söker finns inte längre eller har flyttats.", "sv"),
    "ru": ("Страница не найдена", "К сожалению, запрошенная страница не существует.", "ru"),
    "tr": ("Sayfa bulunamadı", "Aradığınız sayfa kaldırılmış veya adresi değişmiş olabilir.", "tr"),
    "oops": ("Oops!", "We can't seem to find the page you're looking for. It may have sailed away.", "en"),
}

SOFT_404S: Mapping[str, Site] = {
    f"soft-404-{name}": _everywhere(
        Verdict.SOFT_404, _full(title, f"{_MENU}<main><h1>{title}</h1><p>{text}</p>{_SEARCH}</main>", lang=lang)
    )
    for name, (title, text, lang) in _SOFT.items()
}

PARKED: Mapping[str, Site] = {
    "parked-for-sale": _everywhere(
        Verdict.PARKED,
        _full(
            "harbour-news.example is for sale",
            "<h1>harbour-news.example</h1><h2>This domain name is for sale!</h2><p>Buy now for $2,495 or make an "
            "offer.</p>"
            "<a href='https://www.example.com/domain/buy'>Get this domain</a><p>Secure payments. Fast transfer.</p>",
        ),
    ),
    "parked-for-sale-de": _everywhere(
        Verdict.PARKED,
        _full(
            "hafen-zeitung.example - Diese Website steht zum Verkauf! - Informationen zum Thema hafen zeitung.",
            "<div id=container-relatedlinks><h1>hafen-zeitung.example</h1><p>Diese Webseite wurde vom Domain Inhaber "
            "dynamisch generiert, der das Sedo Domain Parking Programm nutzt.</p><a "
            "href='https://www.example.com/s?d=h'>"
            "Diese Domain erwerben</a></div><div class=related><h3>Verwandte Suchen</h3></div>",
            lang="de",
        ),
    ),
    "parked-ads": _everywhere(
        Verdict.PARKED,
        _full(
            "harbour-talk.example",
            "<div class=header>harbour-talk.example</div><p>Related Searches</p><ul><li><a "
            "href='/?q=boats'>Boats For Sale"
            "</a></li><li><a href='/?q=insurance'>Boat Insurance</a></li><li><a href='/?q=cruise'>Cruise "
            "Deals</a></li></ul>"
            "<p class=foot>The Sponsored Listings displayed above are served automatically by a third party. "
            "Neither the "
            "service provider nor the domain owner maintain any relationship with the advertisers.</p>",
        ),
    ),
    "parked-registrar-fr": _everywhere(
        Verdict.PARKED,
        _full(
            "Domaine réservé",
            "<h1>Ce nom de domaine vient d'être enregistré</h1><p>Ce domaine a été réservé par l'un de nos "
            "clients. Aucun "
            "site n'y est encore installé. Vous cherchez un nom de domaine ? <a href='https://www.example.com/'>"
            "Hébergement</a></p>",
            lang="fr",
        ),
    ),
    "parked-server-default": _everywhere(
        Verdict.PARKED,
        _full(
            "Welcome to nginx!",
            "<h1>Welcome to nginx!</h1><p>If you see this page, the nginx web server is successfully installed "
            "and working. "
            "Further configuration is required.</p><p>For online documentation and support please refer to <a "
            "href='http://www.example.org/'>the manual</a>.</p><p><em>Thank you for using nginx.</em></p>",
        ),
    ),
    "parked-suspended": _everywhere(
        Verdict.PARKED,
        _full(
            "Account Suspended",
            "<h1>This Account has been suspended.</h1><p>Contact your hosting provider for more information.</p>",
        ),
    ),
}

EMPTY: Mapping[str, Site] = {
    "empty-nothing": _everywhere(Verdict.EMPTY, Answer("")),
    "empty-comments": _everywhere(
        Verdict.EMPTY,
        Answer(
            "<!doctype html><html><head><title>Harbour</title></head><body><!-- to do --> &nbsp;<p></p>\n"
            "<div><br></div></body></html>"
        ),
    ),
    "empty-logo": _everywhere(
        Verdict.EMPTY, Answer(html("<div><img src='data:image/gif;base64,R0lGODlhAQABAAAAACw=' alt=''></div>"))
    ),
}

_FINNISH = "Satamassa on tänään monta laivaa, ja ihmiset odottavat parempaa säätä rannalla. "
_GREEK = "Το λιμάνι είναι σήμερα γεμάτο πλοία και οι άνθρωποι περιμένουν τον καλό καιρό. "

LANGUAGES: Mapping[str, Site] = {
    "language-unsaid": Site(
        Verdict.LANGUAGE,
        {
            "/": Answer(
                f"<html><title>Satama</title><body><h1>Satama</h1><p>{_FINNISH * 9}</p><p>{_FINNISH * 3}</p>"
                "<a href='/uutiset.html'>Uutiset satamasta</a></body></html>"
            )
        },
        frozenset({"/"}),
        icd="scope: {languages: [en]}\n",
    ),
    "language-misstated": Site(
        Verdict.LANGUAGE,
        {"/": _full("Λιμάνι", f"<h1>Το λιμάνι</h1><p>{_GREEK * 9}</p><a href='/nea.html'>Νέα του λιμανιού</a>")},
        frozenset({"/"}),
        icd="scope: {languages: [en, de]}\n",
    ),
}

MAINTENANCE: Mapping[str, Site] = {
    "maintenance-503": _everywhere(
        Verdict.MAINTENANCE,
        Answer(
            html(
                "<h1>We&rsquo;ll be back soon!</h1><p>Sorry for the inconvenience but we&rsquo;re performing some "
                "maintenance at the moment.</p><p>&mdash; The Team</p>",
                title="Site Maintenance",
            ),
            503,
            (("Content-Type", "text/html"), ("Retry-After", "3600")),
        ),
    ),
    "maintenance-wordpress": _everywhere(
        Verdict.MAINTENANCE,
        _full("Maintenance", "<h1>Briefly unavailable for scheduled maintenance. Check back in a minute.</h1>"),
    ),
    "maintenance-de": _everywhere(
        Verdict.MAINTENANCE,
        _full(
            "Wartungsarbeiten",
            "<img src='/logo.png'><h2>Wartungsarbeiten</h2><p>Unser Forum wird gerade gewartet und ist in "
            "K&uuml;rze wieder "
            "f&uuml;r Sie da. Wir bitten um Ihr Verst&auml;ndnis.</p>",
            lang="de",
        ),
    ),
    "maintenance-board": _everywhere(
        Verdict.MAINTENANCE,
        _full(
            "Harbour Board - Information",
            "<div class=panel id=message><h2>Information</h2><p>Sorry but this board is currently "
            "unavailable.</p><p>We are "
            "moving to a new server, please come back tomorrow.</p></div>",
        ),
    ),
    "maintenance-construction": _everywhere(
        Verdict.MAINTENANCE,
        _full("Coming soon", "<h1>Coming soon</h1><p>Our new website is under construction. Stay tuned!</p>"),
    ),
}

_TEXT = "".join(f"<p>The {KEYWORD} {prose(f'lookalike {n}', 60)}</p>" for n in range(4))
_BANNER = (
    "<div id='onetrust-banner-sdk'><h2>We value your privacy</h2><p>We and our partners store or access "
    "information on a "
    "device, such as cookies. You may accept or manage your choices.</p><button>Accept All</button></div>"
)


def _page(body: str, title: str = "Harbour", status: int = 200) -> Site:
    """Return a site whose front page has content and leads to its articles."""
    return open_site(_full(title, body, status=status))


LOOKALIKES: Mapping[str, Site] = {
    "like-banner": _page(f"{_BANNER}{LIST}{_TEXT}"),
    "like-banner-short": _page(f"{_BANNER}{LIST}"),
    "like-login-in-header": _page(
        f"<header><form action='/login' method=post><input name=user>{_SECRET}<button>Log "
        f"in</button></form></header>{LIST}"
    ),
    "like-login-to-reply": _page(
        f"{LIST}<article><h2>About the {KEYWORD}</h2>{_TEXT}</article><p>You must be logged in to reply. <a "
        "href='/login'>"
        "Log in</a> or <a href='/register'>register</a>.</p>"
    ),
    "like-about-cookies": _page(
        "<h1>Cookies and consent walls</h1><p>Why do all sites ask us to accept cookies? "
        f"{prose('cookies', 80)}</p>{_TEXT}"
        f"<ul>{LINKS}</ul>",
        "Cookies, consent and privacy",
    ),
    "like-about-404": _page(
        "<article><h1>Page not found: a history of the "
        f"404</h1><p>{prose('not found', 90)}</p>{_TEXT}</article><ul>{LINKS}"
        "</ul>",
        "Page not found: a history",
    ),
    "like-for-sale": _page(
        f"<article><h1>The old {KEYWORD} is for sale</h1><p>The domain of the port authority is for sale, and "
        "buyers are "
        f"asked to make an offer. {prose('sale', 60)}</p>{_TEXT}</article><ul>{LINKS}</ul>",
        "This harbour is for sale",
    ),
    "like-maintenance": _page(
        f"<article><h1>{KEYWORD.title()} closed for maintenance</h1><p>The lock is under maintenance and will be "
        "back soon. "
        f"{prose('lock', 60)}</p>{_TEXT}</article><ul>{LINKS}</ul>",
        "Closed for maintenance",
    ),
    "like-next-rendered": _page(
        f"<div id='__next'>{LIST}{_TEXT}</div><script id='__NEXT_DATA__' "
        f"type='application/json'>{{}}</script><noscript>"
        "Please enable JavaScript for the best experience.</noscript>"
    ),
    "like-teaser-list": _page(
        f"<main>{LIST}<p>Subscribe now for unlimited access. Already a subscriber? <a href='/login'>Log "
        "in</a></p></main>"
    ),
    "like-captcha-in-comments": _page(
        f"<article><h1>About the {KEYWORD}</h1>{_TEXT}</article><ul>{LINKS}</ul><form "
        "method=post><textarea></textarea><div "
        "class='g-recaptcha' data-sitekey=x></div><p>Prove that you are not a robot.</p></form>"
    ),
    "like-age-limit": _page(
        "<h1>Sailing school</h1><p>You must be 18 or older to take part in the night "
        f"course.</p>{_TEXT}<ul>{LINKS}</ul>"
    ),
    "like-cookie-bounce": Site(
        Verdict.FETCHED, {"/": _bounced, "/robots.txt": Answer("", 404)}, ALL | {"/"}, other=_bounced
    ),
    "like-short-list": _page(f"<ul>{LINKS}</ul>"),
    "like-short-note": open_site(_full("Harbour", f"<p>The {KEYWORD} opens at nine.</p>"), reach=frozenset()),
}

HELD_BACK: Mapping[str, Site] = {
    "held-registration-es": walled(
        Verdict.LOGIN,
        "<header><a href='/'>El Puerto</a><nav><a href='/local/'>Local</a> <a href='/deportes/'>Deportes</a> <a "
        "href='/cultura/'>Cultura</a></nav></header><main><h1>El faro vuelve a alumbrar</h1><p class=firma>Por "
        f"Ana Ruiz, 3 de mayo</p><p>El faro del puerto ({KEYWORD}) se encendió anoche por primera vez en seis años, "
        "ante unas doscientas personas que...</p><div class=muro><h3>Sigue leyendo gratis</h3><p>Regístrate para "
        "leer este artículo completo. Solo te llevará un minuto.</p><a href='/registro'>Crear cuenta</a><p>¿Ya estás "
        "registrado? <a href='/acceso'>Inicia sesión</a></p></div></main>",
    ),
    "held-forum-zh": _everywhere(
        Verdict.LOGIN,
        _full(
            "提示信息 - 港口论坛",
            "<div id=hd><a href='./'>港口论坛</a></div><div id=messagetext class=alert_info><p>抱歉，您尚未登录，"
            "没有权限访问该版块</p></div><div><a href='member.php?mod=logging&amp;action=login'>登录</a> "
            "<a href='member.php?mod=register'>立即注册</a></div><p><a href='javascript:history.back()'>[ 点击这里返回"
            "上一页 ]</a></p>",
            lang="zh",
        ),
    ),
    "held-browser-check-ru": _everywhere(
        Verdict.CHALLENGE,
        _full(
            "Проверка браузера",
            "<div class=spinner></div><h2>Подождите несколько секунд</h2><p>Мы проверяем ваш браузер перед входом на "
            "сайт. Это происходит автоматически.</p><noscript>Для продолжения включите JavaScript.</noscript><p "
            "class=ray>Request ID: 7f3ac0</p><script>var w=new Worker('/gate/worker.js');w.postMessage({n:'b81c',d:5});"
            "w.onmessage=function(e){location.href='/gate/pass?r='+e.data+'&to='+encodeURIComponent(location.pathname)}"
            "</script>",
            lang="ru",
        ),
    ),
    "held-upgrade-sv": _everywhere(
        Verdict.MAINTENANCE,
        Answer(
            html(
                "<h1>Vi uppgraderar</h1><p>Webbplatsen är tillfälligt stängd medan vi byter server. Välkommen åter i "
                "morgon bitti.</p>",
                title="Strax tillbaka",
                lang="sv",
            ),
            503,
            (("Content-Type", "text/html"), ("Retry-After", "Wed, 01 Jan 2098 06:00:00 GMT")),
        ),
    ),
    "held-like-metered": _page(
        f"<article><h1>The {KEYWORD} in winter</h1>{_TEXT}</article><aside class=paywall-meter><p>This is the first of "
        "your three free articles this month. <a href='/subscribe'>Subscribe</a> or <a href='/login'>log in</a> to "
        f"continue reading without limits.</p></aside><ul>{LINKS}</ul><script type='application/ld+json'>"
        '{"@context":"https://schema.org","@type":"NewsArticle","isAccessibleForFree":false}</script>'
    ),
}
"""Written before the detection was changed for the last of those above."""

LATER: Mapping[str, Site] = {
    "later-members-nl": walled(
        Verdict.LOGIN,
        "<header><a href='/'>Havenforum</a><nav><a href='/nieuw'>Nieuw</a> <a href='/leden'>Leden</a></nav></header>"
        "<main><h1>Foutmelding</h1><div class=blockMessage>Je moet ingelogd zijn om dit onderdeel te bekijken.</div><p>"
        "<a href='/aanmelden' class=button>Inloggen of registreren</a></p></main><footer><a href='/regels'>Regels</a>"
        "</footer>",
    ),
    "later-paywall-fr": walled(
        Verdict.LOGIN,
        f"<header><a href='/'>Le Quai</a></header><article><h1>Le port ({KEYWORD}) cherche un capitaine</h1><p>Depuis "
        "le départ de son capitaine, le port n'a plus de direction. La mairie a publié une annonce, sans "
        "succès jusqu'à</p><div><strong>Il vous reste 80 % de cet article à lire.</strong> La suite est "
        "réservée aux abonnés.</div><a href='/offres'>S'abonner</a> <a "
        "href='/connexion'>Déjà abonné ? Se connecter</a></article>",
    ),
    "later-check-pt": _everywhere(
        Verdict.CHALLENGE,
        _full(
            "Só um momento",
            "<h1>porto.example.org</h1><p>Estamos verificando se a conexão com o site é segura. Aguarde alguns "
            "segundos.</p><div id=desafio></div><script src='/v/desafio.js'></script>",
            lang="pt",
            status=403,
        ),
    ),
    "later-service-pl": _everywhere(
        Verdict.MAINTENANCE,
        _full(
            "Przerwa techniczna",
            "<h1>Zaraz wracamy</h1><p>Trwają prace serwisowe. Zapraszamy ponownie za godzinę.</p>",
            lang="pl",
            status=503,
        ),
    ),
    "later-like-museum-de": open_site(
        _full(
            "Hafenmuseum",
            f"<h1>Hafenmuseum ({KEYWORD})</h1><p>Das Museum ist vorübergehend geschlossen. Führungen nur für "
            "Mitglieder, jeden Dienstag um zehn.</p><p><a href='/anmeldung'>Anmeldung zur Führung</a></p>",
            lang="de",
        ),
        reach=frozenset(),
    ),
}
"""Written after that, and run once before anything was changed for them."""

WALLS: Mapping[str, Site] = {
    **CHALLENGES,
    **CONSENTS,
    **COOKIE_WALLS,
    **LOGINS,
    **AGES,
    **SCRIPTS,
    **SOFT_404S,
    **PARKED,
    **EMPTY,
    **LANGUAGES,
    **MAINTENANCE,
}
