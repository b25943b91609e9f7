"""Detect pages that a site shows in place of its content: challenges, consent questions, logins, script-only pages.

Challenges are detected by headers, scripts and paths that their makers document or that every such page needs. Other
walls are detected by what a page lets a reader do: a password form, a question with buttons, or nothing. If the page
has little text and no links that lead on, what it says counts as well.
"""

import re
from collections.abc import Collection, Iterable
from email.utils import parsedate_to_datetime
from itertools import islice
from typing import Final
from urllib.parse import unquote, urlsplit

from aahcrawler import urls
from aahcrawler.metadata import LinkType, Metadata
from aahcrawler.page import Page
from aahcrawler.page.text import excerpt
from aahcrawler.seeds.verdicts import Verdict, of_status
from aahcrawler.traps.patterns import Trap

_MAX_WALL_LENGTH: Final = 4_000
"""Characters of text beyond which a page is no wall."""
_TEASER: Final = 1_500
"""Characters of text up to which an article may be the beginning of one."""
_BRIEF: Final = 600
"""Characters of text up to which a page with a challenge's script, or with scripts alone, holds nothing else."""
_LOOKED_AT: Final = 200_000
"""Characters of a page in which signs are looked for."""

_CHALLENGE_HEADERS: Final = (
    ("cf-mitigated", "challenge"),
    ("x-amzn-waf-action", ""),
    ("x-sucuri-block", ""),
)
_GUARD_HEADER: Final = "x-datadome"
"""Is on every answer of a guarded site; on a refusal it says by whom."""
_CHALLENGE: Final = re.compile(
    r"""/cdn-cgi/challenge-platform/[\w/]*orchestrate | cf[-_]chl[-_]opt
      | (?:geo|ct)\.captcha-delivery\.com | _Incapsula_Resource | /_sec/cp_challenge/ | sec-if-cpt-container
      | px-captcha | _pxAppId | awswaf\.com | awsWafCookieDomainList | /\.within\.website/x/cmd/anubis
      | anubis_challenge
      | ddos-guard\.net | /\.well-known/ddos-guard | /\.well-known/sgcaptcha | sucuri_cloudproxy_js | /__ddg\d?
      | perimeterx\.net | kpsdk | /_guard/ | checking-your-browser | haproxy-protection
    """,
    re.IGNORECASE | re.VERBOSE,
)
_CAPTCHA: Final = re.compile(
    r"hcaptcha\.com/|recaptcha/|friendlycaptcha|/altcha|data-sitekey|mcaptcha|challenges\.cloudflare\.com/turnstile",
    re.IGNORECASE,
)
_SETS_COOKIE: Final = re.compile(r"document\.cookie\s*=|crypto\.subtle|proof.of.work", re.IGNORECASE)
_LOADS_AGAIN: Final = re.compile(
    r"location\.reload\s*\(|location(?:\.href)?\s*=|location\.replace\s*\(|\.submit\s*\(", re.IGNORECASE
)

_CONSENT_URL: Final = re.compile(
    r"consent|cookie-?wall|privacy-?(?:wall|gate)|gdpr|dsgvo|cmp(?=[./?]|$)", re.IGNORECASE
)
_CONSENT_SUBJECT: Final = re.compile(
    r"cookie|consent|privacy|tracking|data protection|datenschutz|einwilligung|traceurs|confidentialité|vie privée"
    r"|privacidad|riservatezza|consenso|privatsphäre|zustimmung|consentimento|consentimiento|toestemming|samtycke"
    r"|samtykke|suostumus|zgod[aęy]"
    r"|soukromí|souhlas|согласие|конфиденциальност|プライバシー|クッキー|同意|隐私|çerez|gizlilik",
    re.IGNORECASE,
)
_CONSENT_DIALOG: Final = re.compile(
    r"onetrust-|sp_message_container|usercentrics|didomi-|qc-cmp2|Cybot|iubenda-cs|truste-|cmpbox|fc-consent-root"
    r"|cky-consent"
    r"|cmplz-|klaro|tarteaucitron|BorlabsCookie|termly|osano-cm|axeptio|sirdata|cookiescript|cookie-?(?:wall|gate)",
    re.IGNORECASE,
)
"""The ids and classes that makers of dialogs for consent document."""
_BESIDE: Final = 200
"""Characters of text beside a dialog for consent up to which there is nothing else to be read."""
_AGREE: Final = re.compile(
    r"\b(?:accept|agree|allow|consent|continue|i am over|enter|akzeptier|zustimm|einverstanden|weiter|accepter"
    r"|j.accepte"
    r"|continuer|aceptar|acepto|aceitar|accetta|accetto|tillad|accepteren"
    r"|akkoord|godkänn|acceptera|godta|accepter|hyväksy"
    r"|akceptuj|zgadzam|souhlas|přijmout|принять|согласен)|同意|接受|kabul",
    re.IGNORECASE,
)
_LEGAL: Final = re.compile(
    r"privacy|cookie|terms|legal|imprint|impressum|datenschutz|agb|nutzungsbedingungen|confidentialit|mentions"
    r"|privacidad"
    r"|condiciones|aviso|riservatezza|termini|voorwaarden|polic|contact|kontakt|about|help|faq|partner|vendor",
    re.IGNORECASE,
)
_LOGIN_URL: Final = re.compile(
    r"(?:^|[/?&=._-])(?:log-?in|sign-?in|logon|auth|sso|cas|account/login|session/new)(?:$|[/?&=._-])", re.I
)
_NOT_FOUND: Final = re.compile(
    r"^(?:error |http |fehler )?404\b|\b404$"
    r"|(?:page|site|file|article|topic|document) (?:was |is |could )?not (?:be )?found"
    r"|^not found$|(?:page|site) (?:no longer|does not) exist|nicht gefunden|introuvable|no (?:se )?encontrad[ao]"
    r"|non trovat[ao]|niet gevonden|não encontrad[ao]|nie znaleziono|не найден|(?:hittades inte|inte hittas)"
    r"|見つかりません|未找到"
    r"|ikke (?:fundet|funnet)|ei löyt?ny|nenalezena|nem található|nu a fost găsit|bulunamadı|не знайден|δεν βρέθηκε"
    r"|찾을 수 없습니다|找不到|tidak ditemukan|không tìm thấy|غير موجودة?",
    re.IGNORECASE,
)
_CANNOT_FIND: Final = re.compile(
    r"(?:can(?:no|['’])t|couldn['’]t|could not|unable to) (?:seem to )?(?:find|locate) (?:the|that|this|your) "
    r"(?:page|url|address)",
    re.IGNORECASE,
)
"""What a page says only of itself, in whatever place."""
_NOT_FREE: Final = re.compile(
    r"""isAccessibleForFree["']? \s* (?: [:=] | content\s*= | href\s*= ) \s* ["']?(?:https?://schema\.org/)?false""",
    re.IGNORECASE | re.VERBOSE,
)
"""How a page declares that it is not for everybody to read (schema.org). All of it may stand there nevertheless."""
_OUTAGE: Final = 300
"""Seconds of Retry-After from which on a server does not just have too much to do."""
_READABLE: Final = re.compile(r"(?:text|application)/(?:(?:.*\+)?(?:json|xml)|html|css|javascript)")
"""Types of what is for programs: where none of it was read, it is of no use as a seed."""
_NEEDS_SCRIPTS: Final = re.compile(r"javascript|scripts?\b", re.IGNORECASE)


def wall(page: Page, said: Metadata) -> Verdict:
    """Return ``FETCHED`` if the response is a page of content, else the kind of wall or error it shows.

    ``said`` is what the crawl understood of the page. Objects on the page prove that it is no wall, unless its headers
    or its status say otherwise, or the only object is the beginning of an article whose rest requires a login.
    """
    if _is_declared_challenge(page):
        return Verdict.CHALLENGE
    if page.status >= 400:
        return _refusal(page, said)
    if said.trap == Trap.SOFT_404 or _says_not_found(page, said):
        return Verdict.SOFT_404
    if not page.body:
        return Verdict.NO_CONTENT
    if not page.is_html or said.source:
        return Verdict.FETCHED if _gives(page, said) else Verdict.UNREAD
    if said.objects:
        return Verdict.LOGIN if _withholds_rest(page, said) else Verdict.FETCHED
    return _without_objects(page, said)


def _gives(page: Page, said: Metadata) -> bool:
    """Return whether a response that is not HTML has links, text or objects, or is a file wanted as it is."""
    if said.links or said.objects or said.source == "document":
        return True
    return not said.source and _READABLE.fullmatch(page.media_type) is None and bool(page.body.strip())


def redirect_wall(target: str) -> Verdict | None:
    """Return the kind of wall that a redirect leads to, judged by the target's URL; None if that shows none."""
    parts = urlsplit(target)
    place = f"{parts.hostname or ''}{parts.path}"
    if _CONSENT_URL.search(place):
        return Verdict.CONSENT
    return Verdict.LOGIN if _LOGIN_URL.search(parts.path) else None


def _without_objects(page: Page, said: Metadata) -> Verdict:
    text = excerpt(page.tree, _MAX_WALL_LENGTH + 2)
    others = tuple(_leading_on(page.url, said))
    if len(others) <= 1 and _is_challenge(page):
        return Verdict.CHALLENGE
    if len(text) <= _MAX_WALL_LENGTH:
        if _asks_password(page) and len(others) <= _MAX_WAYS and not _leads_to_content(others, said):
            return Verdict.LOGIN
        if len(others) <= 1 and (_asks_consent(page, text) or _is_dialog(page, text)):
            return Verdict.CONSENT
        if _withholds_rest(page, said):  # Those who may pay instead of consenting are asked for consent.
            return Verdict.LOGIN
        if len(others) <= 1 and (told := _told(page)) is not None:
            return told
    if len(text) <= _BRIEF and not others and _needs_scripts(page):
        return Verdict.SCRIPTS
    is_empty = not any(said.links) and not (len(text) > _BRIEF or _beside_mail(page))
    return Verdict.EMPTY if is_empty else Verdict.FETCHED


def _leads_to_content(others: Iterable[str], said: Metadata) -> bool:
    """Return whether a page with a login and few links leads to content nevertheless, as a small forum does.

    That is so if an action of the knowledge base found a link, or if two links differ only in a number, as boards do.
    """
    if any(link.action is not None for link in said.links):
        return True
    numbered = [_NUMBER.sub("0", url) for url in set(others) if _NUMBER.search(url)]
    return len(set(numbered)) < len(numbered)


def _beside_mail(page: Page) -> str:
    """Return the beginning of the page's text, without links that lead to no page, such as ``mailto:``."""
    links = islice(page.tree.iter("a"), _MAX_LINKS)
    mail = {each for each in links if (href := each.get("href")) and urls.resolve(page.base_url, href) is None}
    return excerpt(page.tree, _BRIEF, mail)


_NUMBER: Final = re.compile(r"(?<=[/=_.-])\d+")
_MAX_LINKS: Final = 1_000
_MAX_WAYS: Final = 6
"""Links to other pages of a site up to which a page with a form for a password is a wall: help, registration, terms."""


_REFUSING: Final = {
    403: {Verdict.CHALLENGE, Verdict.LOGIN, Verdict.COOKIE_WALL, Verdict.AGE},
    405: {Verdict.CHALLENGE},
    428: {Verdict.CHALLENGE},
    429: {Verdict.CHALLENGE},
    503: {Verdict.CHALLENGE, Verdict.MAINTENANCE},
}
"""What a page may say that makes more of its status."""


def _refusal(page: Page, said: Metadata) -> Verdict:
    """Return the verdict for an error response: by its status, or by its page where that is more exact."""
    if page.status not in _REFUSING or not page.is_html:
        return of_status(page.status)
    if page.status == 503 and not said.objects and _announces_outage(page):
        return Verdict.MAINTENANCE
    if _is_challenge(page):
        return Verdict.CHALLENGE
    if said.objects:
        return of_status(page.status)
    told = Verdict.LOGIN if _asks_password(page) else _told(page)
    return told if told is not None and told in _REFUSING[page.status] else of_status(page.status)


def _told(page: Page) -> Verdict | None:
    """Return what kind of wall a page with little text says that it is; None if it says nothing of the kind."""
    if _hands_on_login(page):
        return Verdict.LOGIN
    if not _is_brief(page):
        return None
    text = " ".join([*(excerpt(each, 80) for each in page.tree.iter("title")), excerpt(page.tree, _BRIEF)])
    if any(True for _ in page.tree.iter("button", "form", "a")):
        for verdict, words in ASKING:
            if words.search(text):
                return verdict
    if HUMAN.search(text) and next(page.tree.iter("script"), None) is not None:
        return Verdict.CHALLENGE
    return next((verdict for verdict, words in TELLING if words.search(text)), None)


def _hands_on_login(page: Page) -> bool:
    """Return whether the page is a form that forwards the reader to a single sign-on (SAML 2.0, section 3.5)."""
    return any(each.get("name") == "SAMLRequest" for each in page.tree.iter("input"))


def _withholds_rest(page: Page, said: Metadata) -> bool:
    """Return whether the page shows the beginning of an article whose rest requires a login or subscription."""
    if len(said.objects) > 1 or len(text := excerpt(page.tree, _TEASER + 2)) > _TEASER:
        return False
    if not READ_ON.search(text) and not _NOT_FREE.search(page.text[:_LOOKED_AT]):
        return False
    return any(ACCOUNT.search(label) for label in _labels(page)) and not _ways_of_content(page, said)


def _ways_of_content(page: Page, said: Metadata) -> Collection[str]:
    """Return the links that lead on from the content of a page: not those of menus, and not those to an account."""
    menus = {
        urls.resolve(page.base_url, each.get("href") or "")
        for menu in page.tree.iter("header", "nav", "footer")
        for each in menu.iter("a")
    }
    return set(_leading_on(page.url, said)) - menus


def _announces_outage(page: Page) -> bool:
    """Return whether ``Retry-After`` of a 503 response announces a long outage (RFC 9110, section 10.2.3)."""
    asked = page.headers.get("Retry-After").strip()
    if asked.isascii() and asked.isdigit():
        return int(asked[:9]) >= _OUTAGE
    try:
        return (parsedate_to_datetime(asked) - page.fetched_at).total_seconds() >= _OUTAGE
    except (ValueError, TypeError, OverflowError):
        return False


def _is_dialog(page: Page, text: str) -> bool:
    """Return whether a consent dialog of a known make is all that the page shows."""
    for each in page.tree.iter("div", "section", "dialog", "aside"):
        if _CONSENT_DIALOG.search(f"{each.get('id', '')} {each.get('class', '')}"):
            own = excerpt(each, _MAX_WALL_LENGTH)
            is_filled = bool(own) or next(each.iter("iframe"), None) is not None
            return is_filled and len(text) - len(own) <= _BESIDE
    return False


def _is_declared_challenge(page: Page) -> bool:
    """Return whether the headers of a page that is not long say that it is a challenge."""
    if page.status == 403 and page.headers.all(_GUARD_HEADER):
        return True
    given = ((value, field) for name, value in _CHALLENGE_HEADERS for field in page.headers.all(name))
    return any(value in field.lower() for value, field in given) and _is_brief(page)


def _is_challenge(page: Page) -> bool:
    """Return whether a short page is a test that tells browsers from crawlers, by its maker's signs or by what it does.

    Pages with content may have the same scripts, so call this only if no content was found.
    """
    if not _is_brief(page):
        return False
    markup = page.text[:_LOOKED_AT]
    if _CHALLENGE.search(markup):
        return True
    if _CAPTCHA.search(markup):
        return not _asks_password(page) and not _takes_message(page)
    return _SETS_COOKIE.search(markup) is not None and _LOADS_AGAIN.search(markup) is not None


def _takes_message(page: Page) -> bool:
    """Return whether the page has a text field to write in, as for comments, which a captcha may protect.

    The fields in which captchas keep their own answer do not count; their names contain ``captcha``.
    """
    return any("captcha" not in (each.get("name") or "").lower() for each in page.tree.iter("textarea"))


def _is_brief(page: Page) -> bool:
    return not page.is_html or len(excerpt(page.tree, _BRIEF + 2)) <= _BRIEF


def _says_not_found(page: Page, said: Metadata) -> bool:
    """Return whether a short page without objects has a title or heading that says "not found"."""
    if said.objects or not page.is_html or not _is_brief(page):
        return False
    headed = any(_NOT_FOUND.search(excerpt(each, 80)) for each in page.tree.iter("title", "h1", "h2"))
    return headed or _CANNOT_FIND.search(excerpt(page.tree, _BRIEF)) is not None


def _asks_password(page: Page) -> bool:
    """Return whether the page has a password field outside its header, menus and sidebars."""
    return any(
        (each.get("type") or "").lower() == "password"
        and next(each.iterancestors("header", "nav", "aside"), None) is None
        for each in page.tree.iter("input")
    )


def _asks_consent(page: Page, text: str) -> bool:
    """Return whether the page speaks of consent and has a button or link that gives it."""
    if len(_CONSENT_SUBJECT.findall(text)) < 2 and not _CONSENT_URL.search(page.url):
        return False
    return any(_AGREE.search(label) for label in _labels(page))


def _labels(page: Page) -> Iterable[str]:
    for each in page.tree.iter("button", "a"):
        yield excerpt(each, 80)
    for each in page.tree.iter("input"):
        if (each.get("type") or "").lower() in {"submit", "button", "image"}:
            yield each.get("value") or each.get("alt") or ""


def _leading_on(url: str, said: Metadata) -> Iterable[str]:
    """Yield the links of a page to other pages of content: not to itself, to legal notes or to an account.

    A link that contains the page's own URL leads back to it after a login or the like, so it does not count.
    """
    own = urlsplit(url)
    for link in said.links:
        if link.type is not LinkType.PAGE:
            continue
        parts = urlsplit(link.url)
        place = unquote(f"{parts.path}?{parts.query}")
        is_back = parts.path == own.path or url in place or (len(own.path) > 1 and own.path in unquote(parts.query))
        is_legal = _LEGAL.search(f"{parts.path} {link.anchor}") or _CONSENT_URL.search(place)
        is_login = _LOGIN_URL.search(parts.path) or ACCOUNT.search(link.anchor)
        if parts.netloc == own.netloc and not is_back and not is_legal and not is_login:
            yield link.url


def _needs_scripts(page: Page) -> bool:
    """Return whether a page without text has scripts that may produce it, or says so; False for a rendered page."""
    if page.rendered:
        return False
    if any(_NEEDS_SCRIPTS.search(each.text_content()[:_BRIEF]) for each in page.tree.iter("noscript")):
        return True
    return next(page.tree.iter("script"), None) is not None


_I: Final = re.IGNORECASE

HUMAN: Final = re.compile(
    r"(?:not|n't) (?:a |an |be a )?(?:robot|bot)\b|are you (?:a )?(?:robot|human)|(?:verify|confirm|prove"
    r"|check)\w* (?:that )?"
    r"you(?:'re| are) (?:a )?human|(?:kein|nicht ein) roboter|(?:un|no es un|no eres un|non sei un|não é um)"
    r" robot|geen robot"
    r"|(?:inte|ikke) (?:är )?en robot|nie jesteś robotem|nejste robot|не робот|ロボットでは|不是机器人|robot olmad"
    r"|(?:check|verify|inspect)ing (?:if |that )?(?:your|the|this) (?:browser|connection|site connection)"
    r"|ddos.protection by"
    r"|(?:browser|bot) (?:check|verification)|security check to (?:access|continue|proceed)"
    r"|browser(?:s)? (?:wird|werden) (?:\w+ )?(?:über|ge)prüft|(?:überprüf|prüf)\w* (?:\w+ ){0,2}browser"
    r"|sicherheitsüberprüfung"
    r"|v[ée]rifi(?:ons|cation|cando|camos|ca|chiamo) (?:\w+ ){0,2}(?:navigateur|navegador|browser)"
    r"|comprob(?:ando|amos|ación) (?:\w+ ){0,2}navegador|(?:we )?controleren (?:\w+ ){0,2}browser"
    r"|kontroller(?:ar|er) (?:\w+ ){0,2}(?:webbläsare|nettleser|browser)|sprawdza(?:my|nie) (?:\w+ ){0,2}przeglądark"
    r"|(?:kontrolujeme|ověřujeme) (?:\w+ ){0,2}prohlížeč|провер(?:ка|яем|яется) (?:\w+ ){0,2}браузер"
    r"|перевір(?:ка|яємо) (?:\w+ ){0,2}браузер|ブラウザ\w*確認|(?:检查|验证|檢查|驗證)(?:您|你)?的?(?:浏览器|瀏覽器)"
    r"|tarayıcınız\w* (?:kontrol|doğrula)",
    _I,
)
"""Of a page that tells people from robots, or looks at the browser before it lets anybody in."""
_COOKIES: Final = re.compile(
    r"cookies? (?:\w+ ){0,3}(?:disabled|blocked|switched off|turned off|enabled|required)|(?:enable|allow|not"
    r" accept\w*) cookies?"
    r"|cookies? (?:\w+ ){0,3}(?:désactivés|deaktiviert|aktivieren|desactivadas|disabilitati|uitgeschakeld"
    r"|inschakelen)"
    r"|(?:activez|activer|n'accepte pas) les cookies|(?:active|habilite|habilitar|activar) las cookies"
    r"|abilit(?:a|are) i cookie|aktivieren sie (?:bitte )?cookies|включите cookie",
    _I,
)
_LOGIN: Final = re.compile(
    r"(?:must|need to|have to|please|required to) (?:be )?(?:logged|log|sign|signed)[- ]?in|log-?in required|are"
    r" not logged[- ]in"
    r"|(?:log|sign) ?in to (?:your|continue|view|see|access)|registered and logged in|members only"
    r"|password[- ]protected|melden sie sich (?:bitte )?an|(?:müssen|musst) \w* ?(?:angemeldet|eingeloggt)"
    r"|passwortgeschützt"
    r"|(?:vous devez (?:être|vous)|veuillez vous) (?:\w+ )?connect|réservé aux (?:adhérents|membres|abonnés)"
    r"|(?:debe|debes|necesita) iniciar sesión|inicie sesión para|(?:devi|è necessario) (?:effettuare l'accesso"
    r"|accedere)"
    r"|faça login para|moet (?:je|u) (?:zijn )?(?:ingelogd|inloggen)|zaloguj się, aby"
    r"|войдите, чтобы|(?:необходимо|нужно|требуется) (?:авториз|войти)|(?:logga|logg|log) (?:in|inn|ind) för att"
    r"|(?:du )?(?:måste|må|skal) (?:vara |være )?(?:logge?a? (?:in|inn|ind)|inloggad|innlogget|logget ind)"
    r"|kirjaudu (?:\w+ )?nähdäksesi|musíte (?:se )?(?:být )?přihlá"
    r"|ログイン(?:してください|が必要)|(?:尚未|没有|還沒有|未)(?:登录|登入|登錄)|请先登|請先登"
    r"|(?:需要|必须)登录|登录后(?:才|可|方)|로그인(?:이 필요|해|하세요)"
    r"|giriş yapma(?:nız|lısınız)",
    _I,
)
READ_ON: Final = re.compile(
    r"(?:to|and) (?:continue|keep|carry on) reading|continue reading (?:this|your|the|with|for|by)"
    r"|(?:to|and) read (?:the (?:full|whole|rest|complete|entire)|this (?:article|story)|more of this)"
    r"|read(?:ing)? (?:the )?(?:full|whole|rest of the) (?:article|story) (?:with|by|for)"
    r"|(?:article|story|content|post|page|text) is (?:\w+ )?(?:only )?(?:for|available (?:only )?to"
    r"|reserved (?:for|to)"
    r"|exclusive(?:ly)? (?:for|to)|limited to) (?:\w+ ){0,3}(?:subscribers|members|supporters|patrons)"
    r"|subscribers?[ -](?:only|exclusive)|exclusive(?:ly)? (?:for|to) (?:\w+ )?subscribers"
    r"|um (?:\w+ ){0,4}(?:weiterzulesen|weiterlesen|zu lesen)|weiterlesen mit|(?:nur|exklusiv) für "
    r"(?:\w+ )?(?:abonnent|mitglieder)|(?:lire|poursuivre) (?:la suite|votre lecture)"
    r"|réservée? (?:aux|à nos) (?:\w+ )?abonnés"
    r"|para (?:seguir|continuar) (?:leyendo|lendo)|sig(?:ue|a) leyendo|para leer (?:este|esta|el|la)"
    r"|(?:exclusiv\w+|solo|só|apenas) para "
    r"(?:suscriptores|assinantes)|per (?:continuare|proseguire) (?:a leggere|la lettura)|continua a leggere"
    r"|(?:riservat\w+|solo) (?:agli|per gli|ai) "
    r"(?:abbonati|iscritti)|(?:om )?verder te lezen|lees verder met|(?:alleen|exclusief) voor (?:abonnees|leden)"
    r"|för att (?:läsa|fortsätta)|for å lese|for at læse|(?:bara|endast|kun) för? (?:prenumeranter|abonnenter)"
    r"|lukeaksesi|(?:vain|ainoastaan) tilaajille|aby (?:czytać|przeczytać)"
    r"|(?:tylko )?dla (?:subskrybentów|prenumeratorów)"
    r"|(?:pouze|jen) pro předplatitele|чтобы (?:читать|дочитать|продолжить чтение)|(?:только )?для подписчиков"
    r"|続きを(?:読む|お読み|ご覧)|会員限定|有料会員|(?:继续|繼續)(?:阅读|閱讀)"
    r"|(?:仅限|僅限|仅对)(?:会员|會員|订阅)|구독자 전용",
    _I,
)
"""Of an article that ends before its end, and of what its reader has to do first. List pages say it as well."""
ACCOUNT: Final = re.compile(
    r"log-?[ _]?[io]n|sign-?[ _]?(?:in|up|on)\b|regist(?:er|r|rate|rier)|subscri|create (?:an |your )?account"
    r"|\baccount\b"
    r"|anmeld|einlogg|abonn|connexion|connecter|inscri|compte\b|cuenta|inici\w+ sesi|\bacceso|suscri"
    r"|\bacced[ie]|iscri|abbona"
    r"|\bconta\b|\bentrar|assin(?:e|ar|atura)|inlog|aanmeld|logga|logg? (?:inn|ind)|prenumer|kirjaudu|rekister|zalogu"
    r"|rejestr|subskry|přihl|registr|předplat|войти|вход|регистр|подпис|увійти|ログイン|登録|購読|登录|登入"
    r"|登錄|注册|註冊|订阅"
    r"|로그인|가입|구독|giriş|kayıt|abone",
    _I,
)
"""Of a link or button by which one gets an account or uses it."""
_AGE: Final = re.compile(
    r"legal (?:drinking |smoking )?age|(?:over|under|least) (?:16|18|19|21|eighteen|twenty-one)\b"
    r"|(?:16|18|19|21|eighteen|twenty-one) (?:years )?(?:or (?:older|over)|of age|and over)|verify your age|age"
    r" verification"
    r"|(?:schon|über|mindestens|unter) (?:16|18)\b|volljährig|altersprüfung|altersverifikation|l'âge légal"
    r"|être majeur"
    r"|(?:plus|moins) de (?:16|18) ans|mayor de (?:edad|18)|menor de edad|maggiorenne|maior de (?:idade|18)"
    r"|(?:ouder|jonger) dan 18|meerderjarig|fyllt 18|over 18 år|pełnoletni|ukończone 18|исполнилось 18"
    r"|18歳以上|18 yaş",
    _I,
)
_PARKED: Final = re.compile(
    r"domain(?: name)?(?: \S+)? (?:is|may be) (?:for sale|available|parked|not configured)|(?:buy|get|purchase"
    r"|own) this domain"
    r"|domain parking|parked (?:domain|free)|sponsored listings|domain (?:has|name has) (?:just )?been "
    r"(?:registered|parked|expired)"
    r"|domain (?:has )?expired|(?:domain|webseite|website) steht zum verkauf|diese domain (?:kaufen|erwerben|ist"
    r" geparkt)"
    r"|domaine (?:\S+ ){0,2}(?:à vendre|enregistré|réservé|expiré)|dominio (?:\w+ ){0,2}(?:in vendita|en venta"
    r"|registrad|scaduto)"
    r"|dom(?:ein|ein\w+) (?:\w+ ){0,2}te koop|domena (?:\w+ ){0,2}na sprzedaż|домен (?:\w+ ){0,2}(?:продаётся"
    r"|продается|припаркован)"
    r"|welcome to (?:nginx|openresty|caddy)|apache2? (?:\w+ ){0,2}default page|default web site page|iis windows"
    r" server"
    r"|test page for the|account (?:has been |is )?suspended"
    r"|no (?:web)?site (?:is )?(?:configured|installed) at this",
    _I,
)
_MAINTENANCE: Final = re.compile(
    r"(?:site|scheduled|planned|some|under|down for|routine|undergoing) maintenance|maintenance (?:mode|page"
    r"|work)|^maintenance$"
    r"|be (?:right )?back (?:soon|shortly|later|in)|under construction|^coming soon|briefly unavailable"
    r"|(?:board|forum|site|website|page|wiki|service) (?:is )?(?:currently|temporarily) (?:unavailable|offline"
    r"|closed|down|disabled)"
    r"|(?:seite|website|webseite|forum) (?:ist )?(?:vorübergehend|derzeit|zurzeit) (?:nicht|geschlossen|offline)"
    r"|(?:site|forum|service) (?:est )?(?:temporairement|actuellement) (?:indisponible|fermé|inaccessible)"
    r"|(?:sitio|web|foro|servicio|página) (?:está )?temporalmente (?:no |fuera|cerrad|inaccesible)"
    r"|(?:sito|forum|servizio|pagina) (?:è )?(?:temporaneamente|momentaneamente) (?:non|chius|fuori)"
    r"|(?:site|fórum|serviço|página) (?:está )?temporariamente (?:indispon|fora|fechad)"
    r"|(?:site|website|forum) (?:is )?tijdelijk (?:niet|gesloten|offline|onbereikbaar)"
    r"|(?:webbplats|sajt|sida|forum)\w* (?:är )?tillfälligt (?:stäng|nere|otillgänglig|ur)"
    r"|(?:nettsted|netside|hjemmeside|side|forum)\w* (?:er )?midlertidigt? (?:stengt|lukket|nede|utilgjengelig)"
    r"|sivusto\w* (?:on )?(?:tilapäisesti|väliaikaisesti)|(?:strona|serwis|forum) (?:jest )?tymczasowo"
    r"|(?:сайт|форум|сервис) (?:\w+ )?временно|(?:сайт|форум|сервіс) (?:\w+ )?тимчасово"
    r"|(?:网站|網站|论坛|站点|本站)(?:正在|暂时|暫時|临时)(?:维护|維護|关闭|關閉|升级)"
    r"|wartungs(?:arbeiten|modus)|(?:wird|werden) (?:\w+ ){0,2}gewartet|im aufbau|en (?:cours de )?maintenance|en"
    r" construction"
    r"|en (?:mantenimiento|construcción)|in (?:manutenzione|costruzione)|em (?:manutenção|construção)|onderhouds?"
    r"|underhåll|vedligehold|vedlikehold|huoltokatko|prac(?:e|ami) (?:konserwacyjn|techniczn)|przerwa techniczna"
    r"|техническ(?:ие|их) работ|технічн(?:і|их) робот|メンテナンス|维护|bakım",
    _I,
)

ASKING: Final = ((Verdict.AGE, _AGE), (Verdict.CHALLENGE, HUMAN), (Verdict.LOGIN, _LOGIN))
"""What a page has to have something to press for."""
TELLING: Final = ((Verdict.COOKIE_WALL, _COOKIES), (Verdict.PARKED, _PARKED), (Verdict.MAINTENANCE, _MAINTENANCE))
