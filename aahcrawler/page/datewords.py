"""The words of many languages that dates are written in."""

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain


@dataclass(frozen=True)
class DateWords:
    """One language's words, each in the form that ``plain_letters`` gives; abbreviations of names are included.

    ``months`` counts from 1, ``weekdays`` from 0 (Monday). ``days`` are offsets from today. ``units`` are lengths in
    seconds (a month as 30 days is never used: see ``MONTH`` and ``YEAR``). ``numbers`` are number words, ``ago`` words
    mark a past time, ``filler`` words may accompany a date and mean nothing, ``now`` words mean the present.
    """

    months: Mapping[str, int]
    weekdays: Mapping[str, int]
    days: Mapping[str, int]
    units: Mapping[str, int]
    numbers: Mapping[str, int]
    ago: frozenset[str]
    filler: frozenset[str]
    now: frozenset[str]

    @cached_property
    def all(self) -> frozenset[str]:
        """Every word that has a meaning here."""
        return frozenset().union(
            self.months, self.weekdays, self.days, self.units, self.numbers, self.ago, self.filler, self.now
        )

    @cached_property
    def beside(self) -> frozenset[str]:
        """Words that may accompany the numbers and the month of a date."""
        return frozenset(self.weekdays) | frozenset(self.days) | self.filler

    @cached_property
    def phrases(self) -> tuple[str, ...]:
        """The entries of several words, a space between them."""
        return tuple(word.replace("-", " ") for word in self.all if "-" in word)


SECOND, MINUTE, HOUR, DAY, WEEK = 1, 60, 3_600, 86_400, 604_800
MONTH, YEAR = -1, -12
"""Units of calendar months, which have no length in seconds: the number of months, negative."""

_UNITS = (SECOND, MINUTE, HOUR, DAY, WEEK, MONTH, YEAR)


def plain_letters(text: str) -> str:
    """Return the text in lower case, without accents and in compatibility form: as the words here are compared.

    >>> plain_letters("Février １４")
    'fevrier 14'
    """
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    bare = "".join(letter for letter in decomposed if unicodedata.category(letter) not in ("Mn", "Cf"))
    return unicodedata.normalize("NFC", bare)


@lru_cache(maxsize=1)
def vocabularies() -> Mapping[str, DateWords]:
    """Return the words by ISO 639-1 code, English first."""
    return {language: _read(groups) for language, groups in _WORDS.items()}


def _read(groups: str) -> DateWords:
    months, weekdays, days, units, numbers, ago, filler, now = (
        [word.split("/") for word in plain_letters(group).split() if word != "-"] for group in groups.split(";")
    )
    return DateWords(
        months=_with_abbreviations(months, 1, 3),
        weekdays=_with_abbreviations(weekdays, 0, 2),
        days={name: -index for index, names in enumerate(days) for name in names},
        units={name: unit for unit, names in zip(_UNITS, units, strict=True) for name in names},
        numbers={name: 1 for names in numbers for name in names},
        ago=frozenset(chain.from_iterable(ago)),
        filler=frozenset(chain.from_iterable(filler)),
        now=frozenset(chain.from_iterable(now)),
    )


def _with_abbreviations(groups: list[list[str]], start: int, shortest: int) -> Mapping[str, int]:
    """Add the beginnings of names that are long enough and belong to one name alone."""
    meanings: dict[str, set[int]] = {}
    for index, names in enumerate(groups, start):
        for name in names:
            for length in range(min(shortest, len(name)), len(name) + 1):
                meanings.setdefault(name[:length], set()).add(index)
    full = {name: index for index, names in enumerate(groups, start) for name in names}
    return {word: min(indexes) for word, indexes in meanings.items() if len(indexes) == 1} | full

    # Eight groups a language, parted by semicolons: months; weekdays from Monday; today, yesterday, the day before;


# second, minute, hour, day, week, month, year; words for one; words for "ago"; words that may accompany a date;
# words for now. A slash parts variants, a hyphen the words of a phrase, and a lone hyphen means none.
_WORDS = {
    "en": """
        january february march april may june july august september october november december;
        monday tuesday wednesday thursday friday saturday sunday; today yesterday; second/seconds/sec/secs/s
            minute/minutes/min/mins/m hour/hours/hr/hrs/h day/days/d week/weeks/wk/wks month/months/mo/mos
            year/years/yr/yrs/y;
        a/an/one/few; ago; on at the of about over almost less than posted published updated created added
            written modified edited last date time o'clock hrs coordinated universal joined registered submitted
            and; now just-now moments-ago
    """,
    "de": """
        januar/janner februar/feber marz/maerz april mai juni july/juli august september oktober november
            dezember;
        montag dienstag mittwoch donnerstag freitag samstag/sonnabend sonntag; heute gestern vorgestern;
            sekunde/sekunden/sek minute/minuten/min stunde/stunden/std tag/tage/tagen woche/wochen
            monat/monate/monaten jahr/jahre/jahren;
        ein/eine/einem/einer/einen; vor; um am uhr den der dem vom von des geschrieben veroffentlicht erstellt
            verfasst datum weniger als etwa ca uber; jetzt eben soeben gerade-eben
    """,
    "fr": """
        janvier fevrier mars avril mai juin juillet août septembre octobre novembre decembre;
        lundi mardi mercredi jeudi vendredi samedi dimanche; aujourd'hui/aujourdhui hier avant-hier;
            seconde/secondes/sec minute/minutes/min/mn heure/heures/h jour/jours semaine/semaines mois
            an/ans/annee/annees;
        un/une; il-y-a; le a les du de la publie poste ecrit date mis jour environ moins d plus; maintenant
            a-l'instant
    """,
    "es": """
        enero febrero marzo abril mayo junio julio agosto septiembre/setiembre octubre noviembre diciembre;
        lunes martes miercoles jueves viernes sabado domingo; hoy ayer anteayer; segundo/segundos/seg
            minuto/minutos/min hora/horas dia/dias semana/semanas mes/meses ano/anos;
        un/una/uno; hace atras; de del a al el la las los hs horas h publicado escrito fecha menos; ahora
            ahora-mismo
    """,
    "it": """
        gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre;
        lunedi martedi mercoledi giovedi venerdi sabato domenica; oggi ieri; secondo/secondi/sec
            minuto/minuti/min ora/ore giorno/giorni settimana/settimane mese/mesi anno/anni;
        un/una/uno; fa; il lo la le alle dal del di ore h pubblicato scritto inviato data meno; adesso
    """,
    "pt": """
        janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro;
        segunda/segunda-feira terça/terça-feira quarta/quarta-feira quinta/quinta-feira sexta/sexta-feira sabado
            domingo; hoje ontem anteontem; segundo/segundos/seg minuto/minutos/min hora/horas dia/dias
            semana/semanas mes/meses ano/anos;
        um/uma; ha atras; de do em as a o h horas publicado escrito postado data feira cerca menos; agora
            agora-mesmo
    """,
    "nl": """
        januari februari maart/mrt april mei juni juli augustus september oktober november december;
        maandag dinsdag woensdag donderdag vrijdag zaterdag zondag; vandaag gisteren eergisteren;
            seconde/seconden/sec minuut/minuten/min uur/uren dag/dagen week/weken maand/maanden jaar/jaren;
        een; geleden; om op de van uur geplaatst geschreven datum minder dan ongeveer; nu zojuist
    """,
    "sv": """
        januari februari mars april maj juni juli augusti september oktober november december;
        mandag tisdag onsdag torsdag fredag lordag sondag; idag/i-dag igar/i-gar i-forrgar/forrgar;
            sekund/sekunder/sek minut/minuter/min timme/timmar/tim dag/dagar vecka/veckor manad/manader ar;
        en/ett; sedan; den kl klockan av publicerad skriven datum for mindre an; nu just-nu nyss
    """,
    "da": """
        januar februar marts april maj juni juli august september oktober november december;
        mandag tirsdag onsdag torsdag fredag lordag/lørdag sondag/søndag; idag/i-dag igar/i-gar i-forgars;
            sekund/sekunder/sek minut/minutter/min time/timer dag/dage uge/uger maned/maneder ar;
        en/et; siden; den kl klokken af skrevet oprettet dato for mindre end; nu lige-nu
    """,
    "no": """
        januar februar mars april mai juni juli august september oktober november desember;
        mandag tirsdag onsdag torsdag fredag lordag/lørdag sondag/søndag; idag/i-dag igar/i-gar i-forgars;
            sekund/sekunder/sek minutt/minutter/min time/timer dag/dager uke/uker maned/maneder ar;
        en/ett/et; siden; den kl klokken av skrevet publisert dato for mindre enn; na akkurat-na
    """,
    "fi": """
        tammikuu/tammikuuta/tammikuun helmikuu/helmikuuta/helmikuun maaliskuu/maaliskuuta/maaliskuun
            huhtikuu/huhtikuuta/huhtikuun toukokuu/toukokuuta/toukokuun kesakuu/kesakuuta/kesakuun
            heinakuu/heinakuuta/heinakuun elokuu/elokuuta/elokuun syyskuu/syyskuuta/syyskuun
            lokakuu/lokakuuta/lokakuun marraskuu/marraskuuta/marraskuun joulukuu/joulukuuta/joulukuun;
        maanantai/ma tiistai/ti keskiviikko/ke torstai/to perjantai/pe lauantai/la sunnuntai/su; tanaan eilen
            toissapaivana; sekunti/sekuntia minuutti/minuuttia/min tunti/tuntia paiva/paivaa viikko/viikkoa
            kuukausi/kuukautta vuosi/vuotta;
        yksi; sitten; klo kello julkaistu kirjoitettu; -
    """,
    "pl": """
        styczen/stycznia luty/lutego marzec/marca kwiecien/kwietnia maj/maja czerwiec/czerwca lipiec/lipca
            sierpien/sierpnia wrzesien/wrzesnia pazdziernik/pazdziernika listopad/listopada grudzien/grudnia;
        poniedzialek/poniedziałek/pon/pn wtorek/wt sroda/środa/sr czwartek/czw piatek/pt sobota/sob
            niedziela/niedz/nd; dzisiaj/dzis wczoraj przedwczoraj; sekunda/sekunde/sekundy/sekund/sek
            minuta/minute/minuty/minut/min godzina/godzine/godziny/godzin/godz dzien/dni
            tydzien/tygodnie/tygodni miesiac/miesiace/miesiecy rok/lata/lat;
        jeden/jedna; temu; o w dnia godz godzina r napisano dodano data mniej niz; teraz przed-chwila
    """,
    "cs": """
        leden/ledna unor/unora brezen/brezna duben/dubna kveten/kvetna cerven/cervna cervenec/cervence
            srpen/srpna zari rijen/rijna listopad/listopadu prosinec/prosince;
        pondeli utery streda ctvrtek patek sobota nedele; dnes vcera predevcirem;
            sekunda/sekundou/sekundami/sekundy minuta/minutou/minutami/minuty/min
            hodina/hodinou/hodinami/hodiny/hod den/dnem/dny/dni tyden/tydnem/tydny mesic/mesicem/mesici
            rok/rokem/lety;
        -; pred; v ve dne od hod datum napsano; -
    """,
    "sk": """
        januar/januara februar/februara marec/marca april/aprila maj/maja jun/juna jul/jula august/augusta
            september/septembra oktober/oktobra november/novembra december/decembra;
        pondelok utorok streda stvrtok piatok sobota nedela; dnes vcera predvcerom; sekunda/sekundou/sekundami
            minuta/minutou/minutami/min hodina/hodinou/hodinami/hod den/dnom/dnami tyzden/tyzdnom/tyzdnami
            mesiac/mesiacom/mesiacmi rok/rokom/rokmi;
        -; pred; o v vo dna od hod; -
    """,
    "ru": """
        январь/января февраль/февраля март/марта апрель/апреля май/мая июнь/июня июль/июля август/августа
            сентябрь/сентября октябрь/октября ноябрь/ноября декабрь/декабря;
        понедельник/пн вторник/вт среда/ср четверг/чт пятница/пт суббота/сб воскресенье/вс; сегодня вчера
            позавчера; секунда/секунду/секунды/секунд/сек минута/минуту/минуты/минут/мин час/часа/часов
            день/дня/дней неделя/неделю/недели/недель месяц/месяца/месяцев год/года/лет;
        один/одну; назад; в г года год от добавлено опубликовано написано дата менее; только-что сейчас
    """,
    "uk": """
        січень/січня лютий/лютого березень/березня квітень/квітня травень/травня червень/червня липень/липня
            серпень/серпня вересень/вересня жовтень/жовтня листопад/листопада грудень/грудня;
        понеділок/пн вівторок/вт середа/ср четвер/чт п'ятниця/пт субота/сб неділя/нд; сьогодні вчора/учора
            позавчора; секунда/секунду/секунди/секунд хвилина/хвилину/хвилини/хвилин/хв
            година/годину/години/годин/год день/дні/днів тиждень/тижні/тижнів місяць/місяці/місяців
            рік/роки/років;
        один/одну; тому; о в р року від опубліковано; -
    """,
    "bg": """
        януари февруари март април май юни юли август септември октомври ноември декември;
        понеделник/пн вторник/вт сряда/ср четвъртък/чт петък/пт събота/сб неделя/нд; днес вчера завчера;
            секунда/секунди минута/минути час/часа ден/дни/дена седмица/седмици месец/месеца година/години;
        един/една; преди; в на г от ч часа публикувано; -
    """,
    "el": """
        ιανουαριος/ιανουαριου/γεναρης φεβρουαριος/φεβρουαριου μαρτιος/μαρτιου απριλιος/απριλιου μαιος/μαιου
            ιουνιος/ιουνιου ιουλιος/ιουλιου αυγουστος/αυγουστου σεπτεμβριος/σεπτεμβριου οκτωβριος/οκτωβριου
            νοεμβριος/νοεμβριου δεκεμβριος/δεκεμβριου;
        δευτερα τριτη τεταρτη πεμπτη παρασκευη σαββατο κυριακη; σημερα χθες/χτες/εχθες προχθες/προχτες;
            δευτερολεπτο/δευτερολεπτα λεπτο/λεπτα ωρα/ωρες ημερα/ημερες/μερα/μερες εβδομαδα/εβδομαδες
            μηνα/μηνες/μηνας χρονο/χρονια/ετος/ετη;
        ενα/μια/εναν; πριν; στις στη στην το την του απο ωρα δημοσιευτηκε δημοσιευθηκε καταχωρηθηκε λιγοτερο
            περιπου ημερομηνια; τωρα μολις-τωρα
    """,
    "tr": """
        ocak şubat mart nisan mayıs haziran temmuz ağustos eylül ekim kasım aralık;
        pazartesi salı çarşamba perşembe cuma cumartesi pazar; bugün dün; saniye dakika saat gün hafta ay yıl;
        bir; önce; saat tarih tarihinde; simdi az-once
    """,
    "ro": """
        ianuarie februarie martie aprilie mai iunie iulie august septembrie octombrie noiembrie decembrie;
        luni marți miercuri joi vineri sâmbătă duminică; azi/astăzi ieri alaltăieri; secundă/secunde
            minut/minute/min oră/ore zi/zile săptămână/săptămâni lună/luni an/ani;
        un/o/una; acum în-urmă; la ora de pe data; -
    """,
    "hu": """
        január február március április május június július augusztus szeptember október november december;
        hétfő kedd szerda csütörtök péntek szombat vasárnap; ma tegnap tegnapelőtt; másodperce/másodperccel
            perce/perccel órája/órával napja/nappal hete/héttel hónapja/hónappal éve/évvel;
        egy; ezelőtt; - óra; -
    """,
    "hr": """
        siječanj/siječnja veljača/veljače ožujak/ožujka travanj/travnja svibanj/svibnja lipanj/lipnja
            srpanj/srpnja kolovoz/kolovoza rujan/rujna listopad/listopada studeni/studenog/studenoga
            prosinac/prosinca;
        ponedjeljak utorak srijeda četvrtak petak subota nedjelja; danas jučer prekjučer;
            sekunda/sekunde/sekundi/sekundu minuta/minute/minutu/min sat/sata/sati dan/dana
            tjedan/tjedna/tjedana mjesec/mjeseca/mjeseci godina/godine/godinu;
        jedan/jednu; prije; u sati h; -
    """,
    "sl": """
        januar/januarja februar/februarja marec/marca april/aprila maj/maja junij/junija julij/julija
            avgust/avgusta september/septembra oktober/oktobra november/novembra december/decembra;
        ponedeljek torek sreda četrtek petek sobota nedelja; danes včeraj predvčerajšnjim;
            sekunda/sekundo/sekundami minuta/minuto/minutami/min ura/uro/urami dan/dnem/dnevi teden/tednom/tedni
            mesec/mesecem/meseci leto/letom/leti;
        -; pred; ob dne; -
    """,
    "ca": """
        gener febrer març abril maig juny juliol agost setembre octubre novembre desembre;
        dilluns dimarts dimecres dijous divendres dissabte diumenge; avui ahir abans-d'ahir; segon/segons
            minut/minuts/min hora/hores dia/dies setmana/setmanes mes/mesos any/anys;
        un/una; fa; de del d a la les el h; -
    """,
    "id": """
        januari februari maret april mei juni juli agustus september oktober november desember;
        senin selasa rabu kamis jumat/jum'at sabtu minggu; hari-ini kemarin; detik menit jam hari minggu bulan
            tahun;
        -; lalu/yang-lalu; pada pukul jam; -
    """,
    "ar": """
        يناير فبراير مارس أبريل/ابريل مايو يونيو يوليو أغسطس/اغسطس سبتمبر أكتوبر/اكتوبر نوفمبر ديسمبر;
        الاثنين/الإثنين الثلاثاء الأربعاء/الاربعاء الخميس الجمعة السبت الأحد/الاحد; اليوم أمس/امس; ثانية/ثوان
            دقيقة/دقائق ساعة/ساعات يوم/أيام/ايام أسبوع/أسابيع شهر/أشهر سنة/سنوات;
        -; منذ قبل; في الساعة; -
    """,
    "he": """
        ינואר/בינואר פברואר/בפברואר מרץ/במרץ אפריל/באפריל מאי/במאי יוני/ביוני יולי/ביולי אוגוסט/באוגוסט
            ספטמבר/בספטמבר אוקטובר/באוקטובר נובמבר/בנובמבר דצמבר/בדצמבר;
        שני שלישי רביעי חמישי שישי שבת ראשון; היום אתמול שלשום; שניה/שניות דקה/דקות שעה/שעות יום/ימים
            שבוע/שבועות חודש/חודשים שנה/שנים;
        -; לפני; יום בשעה; -
    """,
    "zh": """
        - - - - - - - - - - - -;
        星期一/周一/週一/礼拜一 星期二/周二/週二 星期三/周三/週三 星期四/周四/週四
            星期五/周五/週五 星期六/周六/週六 星期日/星期天/周日/週日; 今天/今日 昨天/昨日
            前天; 秒/秒钟/秒鐘 分钟/分鐘/分 小时/小時/个小时/個小時 天/日 周/週/星期/个星期
            个月/個月/月 年;
        -; 前/之前/以前; 发表于 發表於 于 於; 刚刚 剛剛 刚才
    """,
    "ja": """
        - - - - - - - - - - - -;
        月/月曜/月曜日 火/火曜/火曜日 水/水曜/水曜日 木/木曜/木曜日 金/金曜/金曜日
            土/土曜/土曜日 日/日曜/日曜日; 今日/本日 昨日 一昨日/おととい; 秒 分 時間 日
            週間 か月/ヶ月/カ月/ヵ月 年;
        -; 前; 投稿日 投稿 日時; たった今
    """,
    "ko": """
        - - - - - - - - - - - -;
        월/월요일 화/화요일 수/수요일 목/목요일 금/금요일 토/토요일 일/일요일; 오늘 어제
            그저께/그제; 초 분 시간 일 주 개월/달 년;
        -; 전; 작성일; 방금
    """,
}
