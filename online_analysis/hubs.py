"""Recognises links to a page that lists the contents of a site: its index, its map, its table of contents.

Such a hub may say little about any topic itself, yet it leads to everything else of a site and is worth fetching early
(hubs and authorities: Kleinberg 1999; Chakrabarti et al. 1999 found that focused crawlers stagnate without hubs). No
crawler can count a page's links before it has fetched it, but people have named such pages alike for as long as there
have been sites, and books.
"""

import re
from functools import lru_cache
from urllib.parse import unquote

from online_analysis.url_parts import split

_NAMES = """
    index | site index | sitemap | site map | contents | table of contents | toc | a-z | a to z | a-z index
    all pages | all articles | all topics | list of pages | list of articles | full index | subject index
    inhaltsverzeichnis | inhalt | stichwortverzeichnis | sachregister | seitenübersicht | seitenverzeichnis
    alle seiten
    sommaire | plan du site | table des matières | toutes les pages | tous les articles
    índice | mapa del sitio | mapa web | tabla de contenidos | todas las páginas | sumario
    indice | mappa del sito | sommario | tutte le pagine
    mapa do site | sumário | tabela de conteúdos | todas as páginas
    inhoud | inhoudsopgave | trefwoordenregister | alle pagina's
    spis treści | mapa strony | indeks | wszystkie strony
    innehåll | innehållsförteckning | webbkarta | webbplatskarta | alla sidor
    indhold | indholdsfortegnelse | alle sider | innhold | innholdsfortegnelse | nettstedskart
    hakemisto | sisällysluettelo | sisällys | sivukartta | kaikki sivut
    obsah | mapa stránek | mapa stránok | rejstřík | všechny stránky
    tartalomjegyzék | oldaltérkép | cuprins | harta site-ului | kazalo | sadržaj | mapa sajta
    ευρετήριο | περιεχόμενα | χάρτης ιστοτόπου | χάρτης ιστότοπου | πίνακας περιεχομένων
    содержание | оглавление | указатель | карта сайта | все страницы | зміст | мапа сайту | съдържание | карта на сайта
    dizin | içindekiler | site haritası | mục lục | sơ đồ trang | daftar isi | peta situs
    فهرس | الفهرس | خريطة الموقع | المحتويات | فهرست | نقشه سایت | מפת האתר | תוכן העניינים | אינדקס
    目录 | 目錄 | 索引 | 网站地图 | 網站地圖 | 站点地图 | 目次 | サイトマップ | 목차 | 색인 | 사이트맵 | 사이트 맵
"""
_HUBS = frozenset(" ".join(re.findall(r"\w+", name.casefold())) for name in re.split(r"[|\n]", _NAMES) if name.strip())
_LONGEST = 60
_WORD = re.compile(r"\w+")
_EXTENSION = re.compile(r"\.[A-Za-z0-9]{2,5}$")


def leads_to_hub(url: str, anchor: str) -> bool:
    """Return whether a link's text, or the last step of its path, is a name of a list of a site's contents.

    Names of many languages are known. ``index.html`` and the like are no such name: it is how servers call the page of
    a folder. A query makes a URL one of many, so then the anchor alone counts.

    >>> leads_to_hub("https://example.org/docs/Index", "The index"), leads_to_hub("https://example.org/p/7", "Site map")
    (True, True)
    >>> leads_to_hub("https://example.org/index.php?topic=7", "Solar power")
    False
    """
    return _is_name(anchor) or _is_named_so(url)


@lru_cache(10_000)
def _is_name(text: str) -> bool:
    return len(text) <= _LONGEST and " ".join(_WORD.findall(text.casefold())) in _HUBS


def _is_named_so(url: str) -> bool:
    _, path, query = split(url)
    step = path.rstrip("/").rpartition("/")[2]
    if query or not step or step.lower().startswith("index."):
        return False
    step = unquote(step, errors="replace") if "%" in step else step
    return _is_name(_EXTENSION.sub("", step).replace("_", " "))
