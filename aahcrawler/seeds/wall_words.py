"""What pages that stand before a site say, in some languages. A page is known by it only where it says little else."""

import re
from typing import Final

from aahcrawler.seeds.verdicts import Verdict

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
