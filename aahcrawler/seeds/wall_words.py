"""What pages that stand before a site say, in some languages. A page is known by it only where it says little else."""

import re
from typing import Final

from aahcrawler.seeds.verdicts import Verdict

_I: Final = re.IGNORECASE

_HUMAN: Final = re.compile(
    r"(?:not|n't) (?:a |an |be a )?(?:robot|bot)\b|are you (?:a )?(?:robot|human)|(?:verify|confirm|prove"
    r"|check)\w* (?:that )?"
    r"you(?:'re| are) (?:a )?human|(?:kein|nicht ein) roboter|(?:un|no es un|no eres un|non sei un|não é um)"
    r" robot|geen robot"
    r"|(?:inte|ikke) (?:är )?en robot|nie jesteś robotem|nejste robot|не робот|ロボットでは|不是机器人|robot olmad",
    _I,
)
_COOKIES: Final = re.compile(
    r"cookies? (?:\w+ ){0,3}(?:disabled|blocked|switched off|turned off|enabled|required)|(?:enable|allow|not"
    r" accept\w*) cookies?"
    r"|cookies? (?:\w+ ){0,3}(?:désactivés|deaktiviert|aktivieren|desactivadas|disabilitati|uitgeschakeld|inschakelen)"
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
    r"|войдите, чтобы|ログインしてください",
    _I,
)
_AGE: Final = re.compile(
    r"legal (?:drinking |smoking )?age|(?:over|under|least) (?:16|18|19|21|eighteen|twenty-one)\b"
    r"|(?:16|18|19|21|eighteen|twenty-one) (?:years )?(?:or (?:older|over)|of age|and over)|verify your age|age"
    r" verification"
    r"|(?:schon|über|mindestens|unter) (?:16|18)\b|volljährig|altersprüfung|altersverifikation|l'âge légal|être majeur"
    r"|(?:plus|moins) de (?:16|18) ans|mayor de (?:edad|18)|menor de edad|maggiorenne|maior de (?:idade|18)"
    r"|(?:ouder|jonger) dan 18|meerderjarig|fyllt 18|over 18 år|pełnoletni|ukończone 18|исполнилось 18|18歳以上|18 yaş",
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
    r"|test page for the|account (?:has been |is )?suspended|no (?:web)?site (?:is )?(?:configured|installed) at this",
    _I,
)
_MAINTENANCE: Final = re.compile(
    r"(?:site|scheduled|planned|some|under|down for|routine|undergoing) maintenance|maintenance (?:mode|page"
    r"|work)|^maintenance$"
    r"|be (?:right )?back (?:soon|shortly|later|in)|under construction|^coming soon|briefly unavailable"
    r"|(?:board|forum|site|website|page|wiki|service) (?:is )?(?:currently|temporarily) (?:unavailable|offline"
    r"|closed|down|disabled)"
    r"|wartungs(?:arbeiten|modus)|(?:wird|werden) (?:\w+ ){0,2}gewartet|im aufbau|en (?:cours de )?maintenance|en"
    r" construction"
    r"|en (?:mantenimiento|construcción)|in (?:manutenzione|costruzione)|em (?:manutenção|construção)|onderhouds?"
    r"|underhåll|vedligehold|vedlikehold|huoltokatko|prac(?:e|ami) (?:konserwacyjn|techniczn)|przerwa techniczna"
    r"|техническ(?:ие|их) работ|технічн(?:і|их) робот|メンテナンス|维护|bakım",
    _I,
)

ASKING: Final = ((Verdict.AGE, _AGE), (Verdict.CHALLENGE, _HUMAN), (Verdict.LOGIN, _LOGIN))
"""What a page has to have something to press for."""
TELLING: Final = ((Verdict.COOKIE_WALL, _COOKIES), (Verdict.PARKED, _PARKED), (Verdict.MAINTENANCE, _MAINTENANCE))
