"""Knows the commonplaces of the web: names of files, classes, cookies and header fields that any software may use.

A sign that holds only such names tells nothing about the software of a page. The words were written down from what
web frameworks, libraries, hosts and handbooks use; a name made of them alone is common, one with any other part is not.
"""

import re
from collections.abc import Iterable, Iterator

from knowledge_base.model import Pattern, Signal

MIN_NAME_LENGTH = 2
"""Letters of a name that can be particular; one letter names nothing."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PLACES = _words("""
static assets asset public dist build out lib libs library libraries vendor vendors node modules module bundles bundle
packages package resources resource res files file media medias upload uploads download downloads data content contents
includes include inc plugins plugin extensions extension ext addons addon components component themes theme skins skin
templates template tpl styles style stylesheets stylesheet css scss sass less js javascript javascripts scripts script
img imgs image images pics pic pictures icons icon ico svg svgs png fonts font webfonts webfont types cdn cache cached
min minified compiled generated combined merged aggregated optimized packed concat src source sources web www html
htdocs site sites client frontend front backend back end admin user users common shared global globals generic general
main index default defaults base basic core app apps application all init start startup loader load lazy deferred async
screen print printer page pages layout layouts layer single multi home custom customs extra extras other others misc
local locale locales lang langs language languages i18n l10n rtl ltr en de fr es it nl pt ru zh ja us gb
desktop mobile tablet phone responsive wide narrow small large big mini full lite light dark day night color colors
colour colours white black red green blue grey gray modern classic simple clean new old current latest legacy next prev
v version versions ver rev hash test tests testing dev development prod production debug demo sample example examples
config configs configuration settings schema pjax pygments noscript tagcloud blogroll favicon favicons
apple touch precomposed startup splash tile tiles browserconfig manifest webmanifest site mask pinned
shortcut
logo logos banner banners background backgrounds bg sprite sprites avatar avatars thumb thumbs thumbnail thumbnails
opensearch search feed feeds rss atom xml json xsl api rest ajax xhr service worker sw workbox runtime chunk chunks
vendors~main commons polyfill polyfills shim shims functions function util utils utility utilities helper helpers tools
tool plugins behavior behaviour behaviors events event actions action ui ux gui forms form inputs input button buttons
menu menus nav navbar navigation sidebar sidebars header headers footer footers slider sliders slideshow gallery modal
modals popup popups dropdown tooltip tooltips tabs tab accordion grid grids table tables typography print reset resets
normalize variables mixins overrides override fix fixes hacks ie ie6 ie7 ie8 ie9 ie10 ie11 opera safari firefox chrome
webkit critical inline above fold below head foot top bottom cookie cookies consent gdpr banner privacy analytics
tracking tracker stats statistics counter pixel ads ad adverts advert sponsor comment comments post posts article
articles blog news forum forums topic topics thread threads entry entries story video videos audio music photo photos
sitemap robots humans wlwmanifest xmlrpc pingback trackback oembed embed embeds share sharing social
""")

_LIBRARIES = _words("""
jquery jqueryui migrate bootstrap bootswatch popper fontawesome awesome fa solid brands regular glyphicons glyphicon
ionicons feather material materialize mdi mdl foundation bulma tailwind tailwindcss semantic uikit pure skeleton spectre
milligram tachyons susy bourbon neat compass normalize modernizr html5shiv html5 shiv respond selectivizr css3pie
mediaqueries underscore lodash backbone marionette handlebars mustache hogan ember angular angularjs react reactdom
preact vue vuex vuetify nuxt svelte sveltekit solid lit alpine alpinejs htmx hyperscript turbo turbolinks stimulus rails
ujs actioncable mootools prototype scriptaculous dojo dijit yui extjs zepto cash umbrella requirejs require systemjs
webpack rollup parcel vite esbuild gulp grunt browserify amd umd esm cjs moment dayjs luxon timeago datepicker
timepicker datetimepicker flatpickr pikaday fullcalendar select2 chosen selectize choices typeahead autocomplete
awesomplete
swiper slick owl carousel flickity splide glide bxslider flexslider nivo royalslider fancybox lightbox lightbox2
colorbox magnific photoswipe glightbox lightgallery viewerjs masonry isotope packery imagesloaded infinite lazysizes
lazyload unveil lozad waypoints scrollmagic scrollreveal aos wow animate animejs gsap tweenmax velocity hammer
hoverintent superfish easing mousewheel scrollto perfect scrollbar simplebar sticky headroom fitvids fittext retina
holder chart chartjs charts d3 highcharts echarts plotly leaflet openlayers mapbox gmaps maps three threejs babylon
pixi phaser prism prismjs highlight highlightjs hljs shjs syntaxhighlighter codemirror ace monaco mathjax katex
asciimath
mermaid tinymce ckeditor fckeditor quill summernote trumbowyg froala redactor medium simplemde easymde editormd toastui
markdown marked showdown commonmark dompurify sanitize emoji emojione twemoji emojify dropzone plupload uppy
fineuploader
cropper croppie jcrop jcarousel videojs plyr mediaelement jwplayer flowplayer howler soundmanager wavesurfer swfobject
toastr sweetalert noty notify notyf bootbox tippy tether hint nprogress pace spin ladda validate parsley inputmask
cleave mask tablesorter datatables tabulator handsontable aggrid clipboard zeroclipboard filesaver jszip pdfjs
socketio socket sockjs signalr pusher recaptcha captcha hcaptcha turnstile gtag gtm ga google googleapis gstatic
googletagmanager adsense adsbygoogle doubleclick facebook fbevents twitter widgets linkedin pinterest addthis
addtoany sharethis disqus gravatar matomo piwik hotjar clarity mixpanel segment amplitude plausible fathom umami sentry
newrelic rum bugsnag cloudflare rocket beacon insights cdnjs jsdelivr unpkg bootcdn staticfile polyfillio typekit
typographica opensans lato roboto inter montserrat poppins raleway nunito merriweather cookieconsent cookiebot onetrust
quantcast complianz osano iubenda klaro userway tawk intercom zendesk crisp hubspot mailchimp stripe paypal
""")

_LAYOUT = _words("""
body html document root container containers wrapper wrappers wrap inner outer holder box boxes block blocks panel
panels pane card cards row rows col cols column columns cell cells section sections region regions area areas zone
group groups stack flex grid float left right center centre middle top bottom start end clear clearfix fixed sticky
absolute relative inline list lists item items li ul ol table tr td th tbody thead caption wide narrow half third
quarter width height size sm md lg xl xxl xs px py pt pb pl pr mx my mt mb ml mr no not is has with without on off
title titles subtitle heading headings headline subject caption label labels text texts copy prose description desc
summary excerpt abstract intro lead teaser teasers body content contents main primary secondary tertiary aside sidebar
sidebars header headers footer footers masthead colophon hero jumbotron banner topbar bottombar bar bars toolbar nav
navs navbar navigation menu menus submenu breadcrumb breadcrumbs crumb crumbs path pager pagination paginator paging
page pages pagenav next prev previous first last current active selected disabled enabled open closed hidden visible
show hide toggle toggled collapse collapsed expand expanded loading loaded sort sorted sortable odd even alt alternate
new old unread read hot pinned locked sticky featured link links url permalink anchor more less all back up down
post posts posting posted poster comment comments commenter reply replies response responses respond message messages
msg answer answers question questions topic topics thread threads discussion discussions forum forums board boards
subforum category categories cat cats tag tags term terms archive archives article articles entry entries story stories
blog blogs news item event events gallery galleries album albums photo photos photograph picture pictures image images
img figure figcaption thumbnail thumbnails video videos audio track tracks music song songs media attachment attachments
file files download downloads author authors byline by user users username name names member members profile profiles
avatar avatars vcard fn nickname person people account group guest staff admin moderator moderators date dates time
times
datetime timestamp day month year published updated modified edited created when who where info meta metadata details
detail data stats count counts number numbers num views view viewed rating ratings rate score votes vote like likes
dislike share sharing social follow followers subscribe subscription feed rss search searchbox form forms field fields
fieldset input inputs button buttons btn btns submit select option options checkbox radio textarea login logout signin
signup register registration password email mail contact about help faq home index front frontpage landing site website
web app application layout layouts template theme skin style default base global common custom widget widgets module
modules plugin component components view views element elements node nodes type types kind single singular multi
multiple
list listing listings results result overview recent popular latest related similar random featured top best trending
quote quotes quoted blockquote code pre highlight signature sig footnote footnotes note notes notice notices alert
alerts
warning error errors success info message flash tooltip modal popup overlay dialog dropdown tab tabs accordion slide
slider slides carousel logo logos brand branding icon icons badge badges label ribbon separator divider spacer line
copyright copyrights credit credits powered license licence legal privacy terms imprint cookie cookies consent ad ads
advert adverts advertisement sponsor sponsored promo print screen reader only sr skip jump light dark white black color
colour small large big medium full clean responsive mobile desktop tablet js javascript script no nojs ltr rtl hfeed
hentry h e p u dt note article webpage scroll scrolled touch hover focus ready logged in out guest anonymous with
language lang languages locale switch switcher settings option preferences dashboard controls control action actions
tool tools data aria edit delete remove report mark flag move reply quote print preview save cancel the a an of for and
to
""")

_FRAMEWORKS = _words("""
fa fas far fab bs uk ui md mdc mat mui ant el v q pure tw chakra ion mdl amp elementor fl js css g gs yui
ng react svelte vue nuxt css sc jss emotion chunk astro cf
""")
"""Beginnings of names that libraries of layout and icons give."""

_COOKIES = re.compile(
    r"(?:php|j|asp\.?net_?|cf|cfml)?_?sess(?:ion)?_?(?:id|token|data|key)?|sid|s|csrf\w*|_?xsrf[\w-]*|_?csrf[\w-]*|"
    r"(?:laravel|ci|django|express|flask|play|rack|symfony|cake|cakephp|rails|zend|yii|fuel|koa|web\d?py|nuxt|next|"
    r"user|"
    r"app|site|main|web|my|secure|__host|__secure)[._-]*(?:session|sess|sid|csrf|csrftoken|xsrf)?(?:[._-]?(?:id|"
    r"token))?|"
    r"sessionid|phpsessid|jsessionid|cfid|cftoken|aspsessionid\w*|connect\.sid|rack\.session|beaker\.session\.id|"
    r"requestverificationtoken|__requestverificationtoken|__antiforgery\w*|\.aspnet\w*(?:\.\w+)*|arraffinity\w*|"
    r"awsalb\w*|awselb|serverid|srv|route|routeid|lb|bigip\w*|visid_incap\w*|incap_ses\w*|nlbi\w*|"
    r"__cf\w*|cf_\w*|_cfuvid|__utm\w*|_g(?:a|id|at|cl)\w*|_fb[pc]|_pk_\w*|_hj\w*|_gcl\w*|ajs_\w*|mp_\w*|amplitude\w*|"
    r"ak_bmsc|bm_s[vz]|datadome|ts\w{6,}|dps_site_id|tk_\w*|crumb|ss_c(?:id|vr)|geo\w*|country|region|"
    r"lang(?:uage)?\w*|locale|i18n\w*|django_language|timezone|tz\w*|theme|skin|color.?scheme|dark_?mode|"
    r"cookie.?(?:consent|notice|law|accepted|test)?\w*|consent\w*|gdpr\w*|test_?cookie\w*|messages|flash\w*|"
    r"auth\w*|token|jwt|remember\w*|user(?:id|name)?|uid|guest\w*|visitor\w*|client\w*|device\w*|tracking\w*|"
    r"ref(?:erer)?|"
    r"last_?visit\w*|first_?visit\w*|returnurl|redirect\w*|basket\w*|cart\w*|currency|view\w*",
    re.IGNORECASE,
)
_HEADERS = re.compile(
    r"x-(?:powered-by|frame-options|content-type-options|content-security-policy|xss-protection|ua-[\w-]*|dns-[\w-]*|"
    r"robots[\w-]*|permitted-[\w-]*|download-[\w-]*|cache[\w-]*|varnish[\w-]*|request[\w-]*|correlation-id|trace[\w-]*|"
    r"runtime|timer|time|response-time|render[\w-]*|served-by|server[\w-]*|backend[\w-]*|host[\w-]*|node|instance|pod|"
    r"proxy[\w-]*|forwarded[\w-]*|real-ip|accel[\w-]*|sendfile|lb|edge[\w-]*|cdn[\w-]*|hits?|age|ttl|country[\w-]*|"
    r"geo[\w-]*|"
    r"amz[\w-]*|amzn[\w-]*|azure[\w-]*|ms-[\w-]*|goog[\w-]*|github[\w-]*|vercel[\w-]*|nf-[\w-]*|netlify[\w-]*|"
    r"fastly[\w-]*|"
    r"akamai[\w-]*|cloud[\w-]*|sucuri[\w-]*|litespeed[\w-]*|nginx[\w-]*|apache[\w-]*|aspnet[\w-]*|aspnetmvc-version|"
    r"php[\w-]*|pingback|turbo[\w-]*|mod-[\w-]*|page-speed|pjax[\w-]*|csrf[\w-]*|xsrf[\w-]*|rate-?limit[\w-]*|"
    r"ratelimit[\w-]*|"
    r"id|uid|version|api-version|app[\w-]*|env(?:ironment)?|debug[\w-]*|total[\w-]*|per-page|page|lang[\w-]*|locale|"
    r"language|archive[\w-]*|aah[\w-]*|clacks-overhead|hacker|recruiting|redirect[\w-]*|original[\w-]*|url|uri|"
    r"cloudflare[\w-]*|nextjs[\w-]*|middleware[\w-]*|matched-path|envoy[\w-]*|rack[\w-]*|dc|datacenter|pass[\w-]*|"
    r"vhost|"
    r"pass-why|nananana|hw|iinfo|cdn|px|ec[\w-]*|openstack[\w-]*|swift[\w-]*|guploader[\w-]*|status|generated[\w-]*)|"
    r"server|via|date|etag|age|vary|link|expires|pragma|connection|keep-alive|transfer-encoding|content-[\w-]*|"
    r"set-cookie|"
    r"cache-control|last-modified|accept-[\w-]*|access-control-[\w-]*|strict-transport-security|referrer-policy|"
    r"permissions-policy|feature-policy|cross-origin-[\w-]*|report-to|nel|expect-ct|alt-svc|p3p|location|cf-[\w-]*|"
    r"server-timing|timing-allow-origin|origin-agent-cluster|refresh|upgrade|allow|status|fastly[\w-]*|akamai[\w-]*|"
    r"www-authenticate",
    re.IGNORECASE,
)
_VALUES = re.compile(
    r"(?:apache|nginx|openresty|caddy|lighttpd|litespeed|iis|microsoft-iis|gunicorn|uvicorn|hypercorn|waitress|uwsgi|"
    r"werkzeug|"
    r"tornado|cherrypy|twisted|wsgi|python|php|perl|ruby|puma|unicorn|passenger|thin|webrick|express|koa|next|nuxt|"
    r"node|"
    r"kestrel|asp|mono|jetty|tomcat|undertow|servlet|jsp|cowboy|varnish|squid|haproxy|envoy|traefik|cloudflare|"
    r"cloudfront|"
    r"netlify|vercel|github|gitlab|heroku|fly|render|amazon|aws|google|gws|ghs|akamai|fastly|sucuri|imunify|plesk|"
    r"cpanel|"
    r"hit|miss|bypass|expired|dynamic|true|false|yes|no|on|off|deny|sameorigin|nosniff|none|all|text|utf|en|mod)",
    re.IGNORECASE,
)
"""What a field says of the server and the framework."""
_GENERATORS = re.compile(
    r"microsoft (?:word|frontpage|excel|publisher|visual)|libreoffice|openoffice|adobe|dreamweaver|frontpage|notepad|"
    r"iweb|mozilla|netscape|html tidy|pandoc|powered by (?:slider revolution|wpbakery|visual composer)|elementor|"
    r"woocommerce|site kit|wpml|yoast|amp plugin|all in one seo|jetpack|docutils|asciidoctor|doxygen|sphinx",
    re.IGNORECASE,
)
_HOSTS = _words("""
github.com gitlab.com bitbucket.org sourceforge.net codeberg.org launchpad.net sr.ht google.com youtube.com facebook.com
twitter.com x.com instagram.com linkedin.com pinterest.com reddit.com tumblr.com flickr.com vimeo.com t.me discord.gg
discord.com mastodon.social wikipedia.org wikimedia.org archive.org w3.org validator.w3.org jigsaw.w3.org schema.org
creativecommons.org gnu.org opensource.org apache.org nginx.org nginx.com mysql.com mariadb.org postgresql.org
sqlite.org
php.net python.org djangoproject.com flask.palletsprojects.com palletsprojects.com rubyonrails.org ruby-lang.org
nodejs.org expressjs.com laravel.com symfony.com codeigniter.com cakephp.org yiiframework.com zend.com perl.org
golang.org go.dev rust-lang.org java.com oracle.com microsoft.com asp.net mozilla.org apple.com android.com
getbootstrap.com twbs.github.com jquery.com jqueryui.com fontawesome.com fontawesome.io fortawesome.github.com
tailwindcss.com bulma.io foundation.zurb.com getuikit.com reactjs.org react.dev vuejs.org angular.io emberjs.com
cloudflare.com netlify.com netlify.app vercel.com vercel.app heroku.com herokuapp.com digitalocean.com ovh.com
hetzner.com amazon.com aws.amazon.com azure.com linode.com godaddy.com hostinger.com dreamhost.com uberspace.de
pages.dev github.io gitlab.io readthedocs.io html5up.net templated.co unsplash.com pexels.com pixabay.com
themeforest.net envato.com colorlib.com freepik.com feedburner.com gravatar.com disqus.com paypal.com patreon.com
ko-fi.com liberapay.com opencollective.com mailchimp.com matomo.org debian.org ubuntu.com linux.org
""")

_PIECES = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_ENDING = re.compile(
    r"\.(?:m?js|css|s[ca]ss|less|ico|png|jpe?g|gif|svg|webp|woff2?|ttf|json|xml|webmanifest|txt|php\d?|aspx?|html?|"
    r"map|min)$"
)
_NAMES_OF_SELECTOR = re.compile(
    r"[.#](-?[A-Za-z_][\w-]*)"  # .class and #id
    r"|\[[\w:-]+\s*[~^$*|]?=\s*[\"']?([^\"'\]]+)[\"']?"  # [attribute=value]
    r"|[@\[](data-[\w-]+)"
    r"|(?:^|[\s>+~,/])([a-z]+(?:-[a-z]+)+)(?![\w-]|::|\()"  # an element of its own
    r"|[\"']([^\"']*)[\"']"  # a text of XPath
)


def is_commonplace(signal: Signal, value: str, name: str = "") -> bool:
    """Return whether a sign holds only names that pages of any software may have.

    ``value`` is what the sign looks for: of a selector its CSS or XPath, of a header field its content, with the
    field's ``name``. A host is a commonplace only where it is that of a hosting or social service; an URL rule is one
    where all fixed words of its path are. What is empty is one.

    >>> is_commonplace(Signal.LINK, "static/css/styles.css"), is_commonplace(Signal.LINK, "tinyforum/skin.css")
    (True, False)
    >>> is_commonplace(Signal.SELECTOR, "body.single-post"), is_commonplace(Signal.SELECTOR, "#tf-board")
    (True, False)
    >>> is_commonplace(Signal.COOKIE, "csrftoken"), is_commonplace(Signal.COOKIE, "tinyforum_sid")
    (True, False)
    """
    match signal:
        case Signal.COOKIE:
            return _COOKIES.fullmatch(value.strip("*_-.")) is not None or is_common_name(value, _PLACES | _LAYOUT)
        case Signal.HEADER:
            return _is_common_header(name, value)
        case Signal.GENERATOR:
            return _GENERATORS.match(value) is not None or len(value.strip()) < MIN_NAME_LENGTH
        case Signal.HOST:
            return is_common_host(value)
        case Signal.SELECTOR:
            return all(is_common_name(each) or is_common_host(each) for each in names_in(value))
        case Signal.SCRIPT | Signal.LINK | Signal.URL:
            return is_common_path(value)
        case Signal.TEXT:
            return is_common_name(value)


def commonplace_in(pattern: Pattern) -> str:
    """Return in plain words why a sign is a commonplace; empty where it is none."""
    value = pattern.value
    if pattern.selector is not None:
        value = pattern.selector.css or pattern.selector.source
    elif pattern.rule is not None:
        value = pattern.rule.path.source if pattern.rule.path is not None else ""
    if pattern.rule is not None and pattern.rule.present:
        value = f"{value} {' '.join(name for name, _ in pattern.rule.present)}"
    if not is_commonplace(pattern.signal, value, pattern.name):
        return ""
    what = _SAID.get(pattern.signal, "names like this are")
    return f"{what} common on the web: other software has the same"


_SAID = {
    Signal.COOKIE: "cookies of this name, which frameworks set, are",
    Signal.HEADER: "header fields of this name are",
    Signal.SCRIPT: "scripts of this name are",
    Signal.LINK: "files of this name are",
    Signal.SELECTOR: "classes and ids of these names are",
    Signal.GENERATOR: "this generator writes pages for many sorts of software, so that pages with it are",
    Signal.HOST: "links to this host are",
}


def names_in(selector: str) -> Iterator[str]:
    """Yield the classes, ids and values of attributes that a CSS or XPath expression asks for.

    >>> list(names_in("body.tf-page a[href*='tinyforum.example']"))
    ['tf-page', 'tinyforum.example']
    """
    for found in _NAMES_OF_SELECTOR.finditer(selector):
        name = next((each for each in found.groups() if each), "").strip()
        if name:
            yield name


def is_common_name(name: str, words: Iterable[str] = _PLACES | _LAYOUT | _LIBRARIES) -> bool:
    """Return whether a name is made of common words alone, or begins as the names of a library of layout do.

    >>> [is_common_name(name) for name in ("postContent", "fa-user", "tf-page", "spirit-topic", "x1")]
    [True, True, False, False, True]
    """
    known = words if isinstance(words, frozenset) else frozenset(words)
    pieces = [piece.lower() for piece in _PIECES.findall(name)]
    if not pieces or sum(map(len, pieces)) < MIN_NAME_LENGTH:
        return True
    if len(pieces) > 1 and pieces[0] in _FRAMEWORKS:
        return True
    return all(piece in known or len(piece) == 1 for piece in pieces) or "".join(pieces) in known


def is_common_path(path: str) -> bool:
    """Return whether all folders and files of a path have common names, those of well-known libraries included."""
    parts = [part for part in re.split(r"[/?&=\s]+", path.lower()) if part.strip("*#")]
    return all(is_common_name(_ENDING.sub("", _ENDING.sub("", part))) for part in parts)


def is_common_host(host: str) -> bool:
    """Return whether a host, or the URL behind it, is of a service that pages of all sorts link to.

    A path below it makes it particular: ``github.com/someone/software``.
    """
    written = re.sub(r"^(?:https?:)?//", "", host.lower()).removeprefix("www.").strip("/")
    return written in _HOSTS


def _is_common_header(name: str, value: str) -> bool:
    if name.lower() in ("x-generator", "x-powered-cms"):
        return _GENERATORS.match(value) is not None
    if value and not _VALUES.match(value) and not is_common_path(re.sub(r"[\d.;,()]+", "/", value)):
        return False
    return _HEADERS.fullmatch(name) is not None
