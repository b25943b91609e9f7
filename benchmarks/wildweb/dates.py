"""Cases of dates: in many languages, declared by pages (placeholders, other calendars, the future), or missing."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from benchmarks.wildweb.case import Case, WantedObject, document, html, prose

SENTENCES: Final[Mapping[str, tuple[str, str, str]]] = {
    "en": (
        "The pilot brought the old boat back to the harbour before the storm, and nobody was hurt.",
        "We painted the lighthouse last week, and now everybody can see it from the other shore.",
        "My father kept a book about every ship that came here, and I would like to read it again.",
    ),
    "es": (
        "El barco viejo volvió al puerto antes de la tormenta y nadie resultó herido, gracias a Dios.",
        "La semana pasada pintamos el faro y ahora todos lo pueden ver desde la otra orilla.",
        "Mi padre tenía un libro sobre cada barco que llegaba aquí y me gustaría leerlo otra vez.",
    ),
    "fr": (
        "Le vieux bateau est rentré au port avant la tempête et personne n'a été blessé, heureusement.",
        "Nous avons peint le phare la semaine dernière et tout le monde le voit depuis l'autre rive.",
        "Mon père tenait un livre sur chaque navire qui venait ici et je voudrais le relire.",
    ),
    "it": (
        "La vecchia barca è tornata al porto prima della tempesta e nessuno si è fatto male.",
        "Abbiamo dipinto il faro la settimana scorsa e adesso tutti lo vedono dall'altra riva.",
        "Mio padre teneva un libro su ogni nave che arrivava qui e vorrei leggerlo ancora.",
    ),
    "ro": (
        "Barca veche s-a întors în port înainte de furtună și nimeni nu a fost rănit.",
        "Am vopsit farul săptămâna trecută și acum toată lumea îl vede de pe celălalt mal.",
        "Tatăl meu avea o carte despre fiecare vapor care venea aici și aș vrea să o citesc din nou.",
    ),
    "de": (
        "Das alte Boot kam vor dem Sturm in den Hafen zurück, und zum Glück wurde niemand verletzt.",
        "Wir haben den Leuchtturm letzte Woche gestrichen, und jetzt sieht ihn jeder vom anderen Ufer.",
        "Mein Vater schrieb ein Buch über jedes Schiff, das hierher kam, und ich möchte es wieder lesen.",
    ),
    "tr": (
        "Eski tekne fırtınadan önce limana döndü ve çok şükür kimseye bir şey olmadı.",
        "Geçen hafta deniz fenerini boyadık ve şimdi herkes onu karşı kıyıdan görebiliyor.",
        "Babam buraya gelen her gemi için bir defter tutardı ve onu yeniden okumak istiyorum.",
    ),
    "th": (
        "เรือเก่ากลับมาถึงท่าเรือก่อนพายุจะมา และไม่มีใครได้รับบาดเจ็บเลย โชคดีมาก",
        "สัปดาห์ที่แล้วเราทาสีประภาคารใหม่ และตอนนี้ทุกคนมองเห็นได้จากอีกฝั่งหนึ่งของแม่น้ำ",
        "พ่อของฉันเคยจดบันทึกเกี่ยวกับเรือทุกลำที่มาที่นี่ และฉันอยากอ่านมันอีกครั้งหนึ่ง",
    ),
    "fa": (
        "قایق قدیمی پیش از توفان به بندر بازگشت و خوشبختانه هیچ کس آسیبی ندید و همه خوشحال شدند.",
        "هفته گذشته فانوس دریایی را رنگ کردیم و اکنون همه می‌توانند آن را از ساحل دیگر ببینند.",
        "پدرم درباره هر کشتی که به اینجا می‌آمد در دفتری می‌نوشت و من می‌خواهم آن را دوباره بخوانم.",
    ),
    "ja": (
        "古い船は嵐の前に港へ戻ってきましたが、幸いなことに怪我をした人は誰もいませんでした。",
        "先週みんなで灯台を塗り直したので、今では向こう岸からもはっきり見えるようになりました。",
        "父はここに来たすべての船のことを帳面に書いていたので、もう一度それを読みたいと思います。",
    ),
    "zh": (
        "那条旧船在暴风雨之前回到了港口，幸好没有人受伤，大家都非常高兴，晚上一起在码头边吃了一顿很长的晚饭，还唱了许多歌。",
        "上个星期我们给灯塔刷了新油漆，现在从对岸的每个地方都可以看见它了，渔民们说这比以前的灯光好得多，晚上回家也更安全。",
        "我父亲有一本书，里面写着来过这里的每一条船，我很想再读一遍那本书，可惜搬家以后谁也不知道它现在放在什么地方了。",
    ),
    "zh-TW": (
        "那條舊船在暴風雨之前回到了港口，幸好沒有人受傷，大家都非常高興，晚上一起在碼頭邊吃了一頓很長的晚飯，還唱了許多歌。",
        "上個星期我們給燈塔刷了新油漆，現在從對岸的每個地方都可以看見它了，漁民們說這比以前的燈光好得多，晚上回家也更安全。",
        "我父親有一本書，裡面寫著來過這裡的每一條船，我很想再讀一遍那本書，可惜搬家以後誰也不知道它現在放在什麼地方了。",
    ),
    "ko": (
        "낡은 배는 폭풍이 오기 전에 항구로 돌아왔고 다행히 다친 사람은 아무도 없었습니다.",
        "지난주에 우리는 등대를 새로 칠했고 이제는 건너편에서도 누구나 볼 수 있습니다.",
        "아버지는 이곳에 온 모든 배에 대해 공책에 적어 두셨고 저는 그것을 다시 읽고 싶습니다.",
    ),
    "ar": (
        "عاد القارب القديم إلى الميناء قبل العاصفة ولم يصب أحد بأذى والحمد لله على ذلك.",
        "في الأسبوع الماضي قمنا بطلاء المنارة والآن يستطيع الجميع رؤيتها من الشاطئ الآخر.",
        "كان والدي يكتب في دفتر عن كل سفينة تأتي إلى هنا وأود أن أقرأه مرة أخرى.",
    ),
    "he": (
        "הסירה הישנה חזרה אל הנמל לפני הסערה ולמרבה המזל איש לא נפגע ממנה.",
        "בשבוע שעבר צבענו את המגדלור ועכשיו כולם יכולים לראות אותו מן החוף השני.",
        "אבא שלי כתב מחברת על כל אונייה שהגיעה לכאן ואני רוצה לקרוא אותה שוב.",
    ),
    "hi": (
        "पुरानी नाव तूफान से पहले बंदरगाह पर लौट आई और सौभाग्य से किसी को चोट नहीं लगी।",
        "पिछले सप्ताह हमने प्रकाशस्तंभ को रंगा और अब सब लोग उसे दूसरे किनारे से देख सकते हैं।",
        "मेरे पिता यहाँ आने वाले हर जहाज के बारे में लिखते थे और मैं वह किताब फिर से पढ़ना चाहता हूँ।",
    ),
    "lt": (
        "Sena valtis grįžo į uostą prieš audrą, ir laimei niekas nebuvo sužeistas.",
        "Praėjusią savaitę nudažėme švyturį, ir dabar visi jį mato nuo kito kranto.",
        "Mano tėvas rašė knygą apie kiekvieną čia atplaukusį laivą, ir norėčiau ją vėl perskaityti.",
    ),
    "lv": (
        "Vecā laiva atgriezās ostā pirms vētras, un par laimi neviens netika ievainots.",
        "Pagājušajā nedēļā mēs nokrāsojām bāku, un tagad visi to var redzēt no otra krasta.",
        "Mans tēvs rakstīja grāmatu par katru kuģi, kas šeit ienāca, un es gribētu to izlasīt vēlreiz.",
    ),
    "vi": (
        "Chiếc thuyền cũ đã trở về bến cảng trước cơn bão và may mắn là không ai bị thương cả.",
        "Tuần trước chúng tôi đã sơn lại ngọn hải đăng và bây giờ ai cũng nhìn thấy nó từ bờ bên kia.",
        "Cha tôi có một quyển sách về mọi con tàu đã đến đây và tôi muốn đọc lại quyển sách ấy.",
    ),
    "ru": (
        "Старая лодка вернулась в гавань до бури, и, к счастью, никто не пострадал.",
        "На прошлой неделе мы покрасили маяк, и теперь его все видят с другого берега.",
        "Мой отец вёл книгу о каждом корабле, который сюда приходил, и я хочу снова её прочитать.",
    ),
    "uk": (
        "Старий човен повернувся до гавані перед бурею, і, на щастя, ніхто не постраждав.",
        "Минулого тижня ми пофарбували маяк, і тепер його всі бачать з іншого берега.",
        "Мій батько вів книгу про кожен корабель, який сюди приходив, і я хочу її знову прочитати.",
    ),
    "pl": (
        "Stara łódź wróciła do portu przed burzą i na szczęście nikt nie został ranny.",
        "W zeszłym tygodniu pomalowaliśmy latarnię i teraz wszyscy widzą ją z drugiego brzegu.",
        "Mój ojciec prowadził książkę o każdym statku, który tu przypłynął, i chciałbym ją znów przeczytać.",
    ),
    "cs": (
        "Stará loď se vrátila do přístavu před bouří a naštěstí nebyl nikdo zraněn.",
        "Minulý týden jsme natřeli maják a teď ho každý vidí z druhého břehu.",
        "Můj otec vedl knihu o každé lodi, která sem připlula, a rád bych si ji znovu přečetl.",
    ),
    "hu": (
        "A régi hajó a vihar előtt visszatért a kikötőbe, és szerencsére senki sem sérült meg.",
        "A múlt héten lefestettük a világítótornyot, és most mindenki látja a túlsó partról.",
        "Apám könyvet vezetett minden hajóról, amely ide jött, és szeretném újra elolvasni.",
    ),
    "fi": (
        "Vanha vene palasi satamaan ennen myrskyä, eikä kukaan onneksi loukkaantunut.",
        "Viime viikolla maalasimme majakan, ja nyt kaikki näkevät sen toiselta rannalta.",
        "Isäni piti kirjaa jokaisesta laivasta, joka tuli tänne, ja haluaisin lukea sen uudelleen.",
    ),
    "el": (
        "Το παλιό καράβι γύρισε στο λιμάνι πριν από την καταιγίδα και ευτυχώς κανείς δεν χτύπησε.",
        "Την περασμένη εβδομάδα βάψαμε τον φάρο και τώρα όλοι τον βλέπουν από την άλλη ακτή.",
        "Ο πατέρας μου έγραφε ένα βιβλίο για κάθε πλοίο που ερχόταν εδώ και θέλω να το ξαναδιαβάσω.",
    ),
    "eu": (
        "Itsasontzi zaharra ekaitzaren aurretik itzuli zen portura, eta zorionez inor ez zen zauritu.",
        "Joan den astean itsasargia margotu genuen, eta orain denek ikus dezakete beste ertzetik.",
        "Nire aitak hona etorritako itsasontzi guztiei buruzko liburu bat zuen, eta berriro irakurri nahi nuke.",
    ),
    "gl": (
        "O barco vello volveu ao porto antes da tormenta e por sorte ninguén resultou ferido.",
        "A semana pasada pintamos o faro e agora todos o poden ver desde a outra beira.",
        "Meu pai tiña un libro sobre cada barco que chegaba aquí e gustaríame lelo outra vez.",
    ),
    "ca": (
        "El vaixell vell va tornar al port abans de la tempesta i per sort ningú no va prendre mal.",
        "La setmana passada vam pintar el far i ara tothom el pot veure des de l'altra riba.",
        "El meu pare tenia un llibre sobre cada vaixell que arribava aquí i m'agradaria tornar-lo a llegir.",
    ),
    "id": (
        "Perahu tua itu kembali ke pelabuhan sebelum badai dan untungnya tidak ada yang terluka.",
        "Minggu lalu kami mengecat mercusuar dan sekarang semua orang dapat melihatnya dari pantai seberang.",
        "Ayah saya mempunyai buku tentang setiap kapal yang datang ke sini dan saya ingin membacanya lagi.",
    ),
    "hr": (
        "Stari brod vratio se u luku prije oluje i srećom nitko nije bio ozlijeđen.",
        "Prošli tjedan obojili smo svjetionik i sada ga svi mogu vidjeti s druge obale.",
        "Moj otac vodio je knjigu o svakom brodu koji je ovamo došao i želio bih je ponovno pročitati.",
    ),
    "sv": (
        "Den gamla båten kom tillbaka till hamnen före stormen, och som tur var blev ingen skadad.",
        "Förra veckan målade vi fyren, och nu kan alla se den från den andra stranden.",
        "Min far förde bok över varje skepp som kom hit, och jag skulle vilja läsa den igen.",
    ),
    "pt": (
        "O barco velho voltou ao porto antes da tempestade e felizmente ninguém ficou ferido.",
        "Na semana passada pintámos o farol e agora toda a gente o vê da outra margem.",
        "O meu pai tinha um livro sobre cada navio que chegava aqui e gostava de o ler outra vez.",
    ),
    "bg": (
        "Старата лодка се върна в пристанището преди бурята и за щастие никой не пострада.",
        "Миналата седмица боядисахме фара и сега всички го виждат от другия бряг.",
        "Баща ми водеше книга за всеки кораб, който идваше тук, и искам да я прочета отново.",
    ),
}


AUTHORS = ("Marten", "Ilsebill", "Corvin")


@dataclass(frozen=True, slots=True)
class Post:
    """A post: its author, its date as the page shows it in HTML, and its text."""

    author: str
    shown: str
    text: str


def posts(lang: str, shown: Sequence[str]) -> tuple[Post, ...]:
    """Return three posts in a language, with the given dates."""
    return tuple(map(Post, AUTHORS, shown, SENTENCES[lang]))


def table_board(title: str, lang: str, written: Sequence[Post]) -> str:
    """Return a thread as a table with a row for each post, as in boards of about the year 2000."""
    rows = "".join(
        f'<tr class="row{number % 2 + 1}"><td class="poster" valign="top"><b>{post.author}</b></td>'
        f'<td class="entry" valign="top"><span class="small">{post.shown}</span><hr size="1">'
        f'<div class="message">{post.text}</div></td></tr>'
        for number, post in enumerate(written)
    )
    return document(title, f'<h2>{title}</h2><table class="thread" width="95%">{rows}</table>', lang=lang)


def block_board(title: str, lang: str, written: Sequence[Post]) -> str:
    """Return a thread of blocks with a line of author and date above each text."""
    blocks = "".join(
        f'<div class="message" id="m{number}"><div class="head"><span class="author">{post.author}</span> '
        f'<span class="posted">{post.shown}</span></div><div class="words"><p>{post.text}</p></div></div>'
        for number, post in enumerate(written, 1)
    )
    return document(title, f'<h1>{title}</h1><div id="messages">{blocks}</div>', lang=lang)


def phpbb_board(title: str, lang: str, written: Sequence[Post]) -> str:
    """Return a thread as phpBB's prosilver shows it."""
    blocks = "".join(
        f'<div id="p{n}" class="post has-profile bg{n % 2 + 1}"><div class="inner"><dl class="postprofile" '
        f'id="profile{n}"><dt><a href="./memberlist.php?mode=viewprofile&amp;u={n}" class="username">{post.author}'
        f'</a></dt></dl><div class="postbody"><div id="post_content{n}"><h3 class="first"><a href="#p{n}">Re: {title}'
        f'</a></h3><p class="author"><span class="responsive-hide">by <strong><a '
        f'href="./memberlist.php?mode=viewprofile&amp;u={n}" class="username">{post.author}</a></strong> &raquo; '
        f'</span>{post.shown}</p><div class="content">{post.text}</div></div></div></div></div>'
        for n, post in enumerate(written, 1)
    )
    return (
        f'<!DOCTYPE html><html dir="ltr" lang="{lang}"><head><meta charset="utf-8"><title>{title}</title></head>'
        f'<body id="phpbb" class="nojs notouch section-viewtopic ltr"><div id="wrap" class="wrap"><div id="page-body" '
        f'class="page-body"><h2 class="topic-title"><a href="./viewtopic.php?t=1">{title}</a></h2>{blocks}</div></div>'
        "</body></html>"
    )


def article_page(title: str, shown: str, head: str = "", lang: str = "en", name: str = "") -> str:
    """Return an article with a line of author and date below its heading."""
    said = "".join(f"<p>{prose(f'{name or title} {number}')}</p>" for number in range(5))
    return document(title, f"<article><h1>{title}</h1><p class='byline'>{shown}</p>{said}</article>", head, lang)


Board = Callable[[str, str, Sequence[Post]], str]
"""Makes a thread from a title, a language and posts."""


DECLARED: Final = "dates declared"
FULL: Final = "full dates beside short ones"
_SHOWN: Final = "By Ada Keeper, 20 March 2021"
_RIGHT: Final = ("2021-03-20",)
_SEED: Final = "/news/boats.html"
_DAYS: Final = (13, 20, 27)


def _meta(value: str) -> str:
    return f'<meta property="article:published_time" content="{value}">'


def _json(value: str) -> str:
    return (
        '<script type="application/ld+json">{"@context": "https://schema.org", "@type": "NewsArticle", '
        f'"headline": "Boats", "datePublished": "{value}"}}</script>'
    )


def _dublin(value: str) -> str:
    return f'<meta name="DC.date.issued" content="{value}">'


def _article(
    name: str,
    head: str = "",
    shown: str = _SHOWN,
    right: Sequence[str | None] = _RIGHT,
) -> Case:
    """Return an article whose title is that of its case."""
    title = f"Boats, {name.replace('-', ' ')}"
    says = prose(f"{title} 0")[:60]
    page = article_page(title, shown, head)
    wanted = WantedObject(_SEED, says, tuple(right))
    return Case(DECLARED, f"declared-{name}", {_SEED: html(page)}, objects=(wanted,), seeds=(_SEED,))


def _time(value: str, words: str = "lately") -> str:
    return f'{_SHOWN} <time datetime="{value}">{words}</time>'


def _declared_thread(name: str, shown: Callable[[datetime], str], board: Board = table_board) -> Case:
    """Return a thread whose posts show their dates and times in some way."""
    moments = [datetime(2021, 3, day, 14, 5, tzinfo=UTC) for day in _DAYS]
    page = board(f"Boats, {name.replace('-', ' ')}", "en", posts("en", list(map(shown, moments))))
    wanted = [
        WantedObject("/topic.php?t=7", words[:40], (moment.strftime("%Y-%m-%d"),))
        for moment, words in zip(moments, SENTENCES["en"], strict=True)
    ]
    seed = "/topic.php?t=7"
    return Case(FULL, f"full-{name}", {seed: html(page)}, objects=wanted, seeds=(seed,))


def _seconds(moment: datetime) -> int:
    return int(moment.timestamp())


DECLARED_CASES: Final = (
    _article("good", _meta("2021-03-20T10:00:00Z")),
    _article("net-zero", _meta("0001-01-01T00:00:00")),
    _article("epoch", _meta("1970-01-01T00:00:00Z")),
    _article("epoch-west", _meta("1969-12-31T16:00:00-08:00")),
    _article("epoch-east", _json("1970-01-01T09:00:00+09:00")),
    _article("sql-zero", _meta("0000-00-00 00:00:00")),
    _article("php-zero", _json("-0001-11-30T00:00:00+00:00")),
    _article("windows-zero", _json("1601-01-01T00:00:00Z")),
    _article("sheet-zero", _meta("1899-12-30T00:00:00")),
    _article("sql-server-zero", _dublin("1753-01-01")),
    _article("last-of-all", _json("9999-12-31T23:59:59Z")),
    _article("future", _json("2099-01-01T00:00:00Z")),
    _article("persian-year", _json("1399-12-30T10:00:00")),
    _article("buddhist-year", _meta("2564-03-20T10:00:00+07:00")),
    _article("time-net-zero", shown=_time("0001-01-01T00:00:00")),
    _article("time-epoch", shown=_time("1970-01-01T00:00:00Z")),
    _article("time-persian", shown=_time("1399-12-30T10:00:00")),
    _article("epoch-alone", _meta("1970-01-01T00:00:00Z"), "By Ada Keeper", (None,)),
    _article("net-zero-alone", _json("0001-01-01T00:00:00"), "By Ada Keeper", (None,)),
    _article("persian-alone", _meta("1399-12-30T10:00:00"), "By Ada Keeper", (None, "2021-03-20")),
    _article("future-alone", _json("2099-01-01T00:00:00Z"), "By Ada Keeper", (None,)),
    _article("mail-form", _meta("Sat, 20 Mar 2021 10:00:00 +0000"), "By Ada Keeper"),
    _article("macintosh-zero", _json("1904-01-01T00:00:00Z")),
    _article("unix-last", _meta("2038-01-19T03:14:07Z")),
    _article("go-zero", _json("0001-01-01T00:00:00Z"), "By Ada Keeper", (None,)),
    _article("time-buddhist", shown=_time("2564-03-20")),
    _declared_thread("title", lambda m: f'<span title="{m:%d} March 2021 14:05">5 years ago</span>'),
    _declared_thread(
        "title-no-year", lambda m: f'<span title="{m:%A}, March {m.day}, 2021 2:05 PM">Mar {m.day}</span>'
    ),
    _declared_thread("datetime", lambda m: f'<time datetime="{m:%Y-%m-%dT%H:%M:%SZ}">5 years ago</time>', block_board),
    _declared_thread("datetime-no-year", lambda m: f'<time datetime="{m:%Y-%m-%d %H:%M}">{m.day} March</time>'),
    _declared_thread(
        "abbr", lambda m: f'<abbr class="published" title="{m:%Y-%m-%dT%H:%M:%S}+00:00">Mar {m.day}</abbr>'
    ),
    _declared_thread(
        "seconds", lambda m: f'<span class="DateTime" data-time="{_seconds(m)}">Saturday at 2:05 PM</span>'
    ),
    _declared_thread(
        "milliseconds", lambda m: f'<span data-timestamp="{_seconds(m)}000">some time ago</span>', block_board
    ),
    _declared_thread("data-date", lambda m: f'<span data-date="{m:%Y-%m-%dT%H:%M:%SZ}">5 years ago</span>'),
    _declared_thread(
        "data-datetime", lambda m: f'<em data-datetime="{m:%Y-%m-%d %H:%M:%S}">Mar {m.day}</em>', block_board
    ),
    _declared_thread(
        "link-title", lambda m: f'<a href="#p{m.day}" title="{m.day} March 2021, 14:05">5y</a>', block_board
    ),
    _declared_thread("time-only", lambda m: f'<span title="{m:%d.%m.%Y %H:%M}">14:05</span>'),
    _declared_thread(
        "element",
        lambda m: f'<relative-time datetime="{m:%Y-%m-%dT%H:%M:%SZ}">on Mar {m.day}</relative-time>',
    ),
)


LANGUAGES: Final = "dates shown by language"
_TUESDAYS: Final = (13, 20, 27)
"""Days of March 2001."""
_AUGUST: Final = (14, 21, 28)
_DECEMBER: Final = (11, 18, 25)
_PERSIAN: Final = {16: "2001-03-06", 23: "2001-03-13", 30: "2001-03-20"}
"""Tuesdays of Esfand 1379, a leap year, in the Gregorian calendar."""
_LANGUAGE_SEED: Final = "/topic.php?t=7"


def _language_thread(
    name: str,
    lang: str,
    template: str,
    right: str = "2001-03-{d}",
    *,
    days: tuple[int, ...] = _TUESDAYS,
    board: Board = table_board,
    or_none: bool = False,
    digits: str = "",
) -> Case:
    """Return a thread of three posts whose dates differ only in the day, for which ``{d}`` stands.

    ``right`` is the beginning of the right dates; with ``or_none``, no date is right as well. ``digits`` are those of
    the page's script.
    """
    shown = [template.format(d=day) for day in days]
    if digits:
        shown = [each.translate(str.maketrans("0123456789", digits)) for each in shown]
    seed = "/viewtopic.php?t=7" if board is phpbb_board else _LANGUAGE_SEED
    page = board(f"Boats of the {name}", lang, posts(lang, shown))
    none = (None,) if or_none else ()
    wanted = [
        WantedObject(seed, words[:24].strip(), (_PERSIAN[day] if right == "Persian" else right.format(d=day), *none))
        for day, words in zip(days, SENTENCES[lang], strict=True)
    ]
    links = r".*viewtopic\.php\?.*|.*memberlist\.php.*"
    return Case(
        LANGUAGES,
        f"tongue-{name}",
        {seed: html(page)},
        may=links if board is phpbb_board else "",
        objects=wanted,
        seeds=(seed,),
    )


_AT_TWO: Final = "2001-03-{d}T14:05"
LANGUAGE_CASES: Final = (
    _language_thread("en-hyphens", "en", "{d}-Mar-2001 14:05", _AT_TWO),
    _language_thread("en-short-year", "en", "{d}-Mar-01 14:05", _AT_TWO),
    _language_thread("en-zone", "en", "{d} March 2001 14:05 AEST", board=block_board),
    _language_thread("en-ubb", "en", "posted March {d}, 2001 02:05 PM", _AT_TWO),
    _language_thread("en-ubb-numbers", "en", "posted 03-{d}-2001 02:05 PM", _AT_TWO),
    _language_thread("en-yabb", "en", "Reply #1 on: 03/{d}/01 at 14:05:30"),
    _language_thread("en-localtime", "en", "Tue Mar {d} 14:05:30 2001", _AT_TWO, board=block_board),
    _language_thread("en-guestbook", "en", "Tuesday, March {d}, 2001 at 14:05:30 (EST)", _AT_TWO, board=block_board),
    _language_thread("en-unix", "en", "Tue Mar {d} 14:05:30 CET 2001", _AT_TWO),
    _language_thread("en-phpbb-hyphens", "en", "{d}-Mar-2001 14:05", _AT_TWO, board=phpbb_board),
    _language_thread("es-twice", "es", "Mar Mar {d}, 2001 2:05 pm", _AT_TWO),
    _language_thread("es-twice-phpbb", "es", "Mar Mar {d}, 2001 2:05 pm", _AT_TWO, board=phpbb_board),
    _language_thread("es-words", "es", "Martes, {d} de marzo de 2001, 14:05"),
    _language_thread("fr-twice", "fr", "Mar {d} Mar 2001, 14:05", board=block_board),
    _language_thread("fr-twice-american", "fr", "Mar Mar {d}, 2001 2:05 pm", _AT_TWO, board=phpbb_board),
    _language_thread("fr-h", "fr", "le mardi {d} mars 2001 à 14h05", _AT_TWO),
    _language_thread("it-twice", "it", "mar mar {d}, 2001 2:05 pm", _AT_TWO),
    _language_thread("ro-twice", "ro", "Mar Mar {d}, 2001 2:05 pm", _AT_TWO, board=block_board),
    _language_thread("ro-words", "ro", "marți, {d} martie 2001, 14:05"),
    _language_thread("tr-short", "tr", "Sal Mar {d}, 2001 2:05 pm", _AT_TWO),
    _language_thread("tr-short-phpbb", "tr", "Sal Mar {d}, 2001 2:05 pm", _AT_TWO, board=phpbb_board),
    _language_thread("tr-long", "tr", "{d} Mart 2001 Salı 14:05"),
    _language_thread("th-gregorian", "th", "{d} มี.ค. 2001 14:05", or_none=True),
    _language_thread("th-buddhist", "th", "{d} มีนาคม 2544 14:05", board=block_board),
    _language_thread("th-buddhist-short", "th", "อ. {d} มี.ค. 2544 14:05", board=phpbb_board),
    _language_thread(
        "fa-words", "fa", "سه‌شنبه {d} اسفند 1379، 14:05", "Persian", days=(16, 23, 30), digits="۰۱۲۳۴۵۶۷۸۹"
    ),
    _language_thread("fa-numbers", "fa", "1379/12/{d} 14:05", "Persian", days=(16, 23, 30), or_none=True),
    _language_thread("ja-numbers", "ja", "01/03/{d} 14:05", or_none=True),
    _language_thread("ja-year", "ja", "2001年3月{d}日(火) 14:05", board=block_board),
    _language_thread("ja-era", "ja", "平成13年3月{d}日 14:05"),
    _language_thread("ja-era-short", "ja", "H13.3.{d} 14:05", or_none=True),
    _language_thread("ja-afternoon", "ja", "2001年3月{d}日 午後2:05", _AT_TWO),
    _language_thread("zh-numbers", "zh", "01/03/{d} 14:05", or_none=True),
    _language_thread("zh-afternoon", "zh", "2001年3月{d}日 下午2:05", _AT_TWO, board=block_board),
    _language_thread("zh-discuz", "zh-TW", "發表於 2001-3-{d} 02:05 PM", _AT_TWO),
    _language_thread("ko-numbers", "ko", "01/03/{d} 14:05", or_none=True),
    _language_thread("ko-afternoon", "ko", "2001년 3월 {d}일 오후 2:05", _AT_TWO),
    _language_thread("ar-afternoon", "ar", "{d} مارس 2001 2:05 م", _AT_TWO),
    _language_thread("ar-levant", "ar", "{d} آذار 2001 2:05 ص", "2001-03-{d}T02:05", board=block_board),
    _language_thread("ar-digits", "ar", "الثلاثاء {d} مارس 2001، 2:05 م", _AT_TWO, digits="٠١٢٣٤٥٦٧٨٩"),
    _language_thread("he-month", "he", "יום שלישי, {d} במרץ 2001, 14:05"),
    _language_thread("hi-month", "hi", "{d} मार्च 2001, 14:05", board=block_board),
    _language_thread("lt-month", "lt", "2001 m. kovo {d} d. 14:05"),
    _language_thread("lv-month", "lv", "{d}. marts 2001, 14:05", board=block_board),
    _language_thread("vi-month", "vi", "{d} Tháng 3 2001, 14:05"),
    _language_thread("el-afternoon", "el", "Τρί Μαρ {d}, 2001 2:05 μμ", _AT_TWO),
    _language_thread("hu-month", "hu", "2001. március {d}., kedd 14:05"),
    _language_thread("eu-month", "eu", "2001(e)ko martxoaren {d}a, 14:05", board=block_board),
    _language_thread("fi-month", "fi", "{d}. maaliskuuta 2001, 14:05"),
    _language_thread("cs-month", "cs", "{d}. března 2001 14:05"),
    _language_thread("ru-weekday", "ru", "Вт мар {d}, 2001 2:05 pm", _AT_TWO),
    _language_thread("id-month", "id", "{d} Agt 2001, 14:05", "2001-08-{d}", days=_AUGUST),
    _language_thread("tr-august", "tr", "Sal Ağu {d}, 2001 2:05 pm", "2001-08-{d}T14:05", days=_AUGUST),
    _language_thread("gl-month", "gl", "{d} de decembro de 2001, 14:05", "2001-12-{d}", days=_DECEMBER),
    _language_thread("lt-weekday", "lt", "Antradienis, 2001 Gruodžio {d}, 14:05", "2001-12-{d}", days=_DECEMBER),
    _language_thread("lv-august", "lv", "Otrdiena, {d}. augusts, 2001 14:05", "2001-08-{d}", days=_AUGUST),
    _language_thread("th-december", "th", "อังคาร {d} ธันวาคม 2544", "2001-12-{d}", days=_DECEMBER),
    _language_thread("vi-weekday", "vi", "Thứ ba, {d} tháng 8, 2001", "2001-08-{d}", days=_AUGUST),
    _language_thread("ja-reiwa", "ja", "令和3年3月{d}日 14:05", "2021-03-{d}"),
    _language_thread("uk-month", "uk", "{d} серпня 2001, 14:05", "2001-08-{d}", days=_AUGUST),
    _language_thread("pl-month", "pl", "{d} gru 2001, 14:05", "2001-12-{d}", days=_DECEMBER),
    _language_thread("hr-month", "hr", "{d}. kolovoza 2001. 14:05", "2001-08-{d}", days=_AUGUST),
    _language_thread("ca-month", "ca", "dt. {d} des. 2001, 14:05", "2001-12-{d}", days=_DECEMBER),
)


NOBODY: Final = "dates nobody wrote"
_NOBODY_SEED: Final = "/topic.php?t=7"


def _undated_thread(name: str, shown: str | Sequence[str], board: Board = table_board, lang: str = "en") -> Case:
    """Return a thread without dates; ``{d}`` in the text in place of a date is another day for each post.

    If the text is unlike a date, each post has a number with a link, by which readers distinguish posts.
    """
    each = [shown.replace("{d}", day) for day in ("13", "20", "27")] if isinstance(shown, str) else shown
    if isinstance(shown, str) and "{d}" not in shown:
        each = [f'{words} <a href="#m{number}">#{number}</a>' for number, words in enumerate(each, 1)]
    page = board(f"Boats, {name.replace('-', ' ')}", lang, posts(lang, each))
    wanted = [WantedObject(_NOBODY_SEED, words[:24].strip()) for words in SENTENCES[lang]]
    return Case(NOBODY, f"nobody-{name}", {_NOBODY_SEED: html(page)}, objects=wanted, seeds=(_NOBODY_SEED,))


def _undated_article(name: str, shown: str, more: str = "", *fields: tuple[str, str]) -> Case:
    """Return an article without a date."""
    title = f"Boats, {name.replace('-', ' ')}"
    page = article_page(title, shown).replace("</article>", f"</article>{more}")
    wanted = WantedObject("/boats.html", prose(f"{title} 0")[:60])
    site = {"/boats.html": html(page, *fields)}
    return Case(NOBODY, f"nobody-{name}", site, objects=(wanted,), seeds=("/boats.html",))


NOBODY_CASES: Final = (
    _undated_thread("no-year", "Mar {d}"),
    _undated_thread("no-year-slash", "on Tuesday March {d}, @02:05PM", block_board),
    _undated_thread("no-year-nuke", "on Tuesday, March {d} @ 14:05:30 CET"),
    _undated_thread("no-year-numbers", "{d}.3. 14:05 Uhr", lang="de"),
    _undated_thread("no-year-japanese", "3月{d}日 14:05", lang="ja"),
    _undated_thread("time-only", ["14:05", "15:20", "16:47"], block_board),
    _undated_thread("time-only-pm", ["2:05 pm", "3:20 pm", "4:47 pm"]),
    _undated_thread("no-day", "March 2001"),
    _undated_thread("year-only", "2001", block_board),
    _undated_thread("shown-epoch", "Posted: 01 Jan 1970 00:00"),
    _undated_thread("shown-epoch-west", "Wed Dec 31, 1969 7:00 pm", block_board),
    _undated_thread("zeros", "00.00.0000, 00:00 Uhr", lang="de"),
    _undated_thread("script", "NaN/NaN/NaN"),
    _undated_thread("invalid", "Invalid Date", block_board),
    _undated_thread("template", "{{ post.date }}"),
    _undated_thread("beats", "@587", block_board),
    _undated_thread("made-up-month", "{d} Frostmoon 2001, 14:05"),
    _undated_thread("address", "IP: 193.20.3.1", block_board),
    _undated_article(
        "copyright", "By Ada Keeper", '<div class="footer">Copyright &copy; 1998-2021 The Harbour Museum</div>'
    ),
    _undated_article("header", "By Ada Keeper", "", ("Last-Modified", "Sat, 20 Mar 2021 10:00:00 GMT")),
    _undated_article("in-text", "By Ada Keeper, who saw it all in the year of the flood"),
    _undated_article("no-year-byline", "By Ada Keeper, 20 March"),
    _undated_thread("no-year-words", "{d} de marzo, 14:05", lang="es"),
    _undated_thread("stardate", "Stardate 54868.6"),
    _undated_thread("impossible", ["31 February 2001", "30 February 2001", "32 March 2001"], block_board),
    _undated_article("volume", "By Ada Keeper, volume 20, number 3, page 2001"),
)
