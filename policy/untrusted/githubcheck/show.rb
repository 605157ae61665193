# Answers what GitHub would show of a text. Reads lines {"id","text"} and
# prints one line for each, in order: GitHub's parser (cmark-gfm) with its
# extensions, then its published sanitizing, mention and team mention filters.
require 'json'
require 'set'
require 'commonmarker'
require 'html/pipeline'
require 'html/pipeline/sanitization_filter'
require 'html/pipeline/@mention_filter'
require 'html/pipeline/@team_mention_filter'

EXTENSIONS = %i[table strikethrough tagfilter autolink tasklist].freeze
PARSE = %i[UNSAFE FOOTNOTES].freeze
RENDER = %i[GITHUB_PRE_LANG HARDBREAKS UNSAFE FOOTNOTES].freeze
PIPELINE = HTML::Pipeline

ISSUE = %r{(?:(?:[\w.-]+/[\w.-]+)?\#\d+|\bGH-\d+|(?:https?://|\bwww\.)[^\s/]+/[\w.-]+/[\w.-]+/(?:issues|pull|discussions)/\d+)}i
CLOSING = /\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?)\b[[:space:]]*:?[[:space:]]*#{ISSUE}/i
REFERENCE = %r{
  (?<![\w/&]) (?: [\w.-]+(?:/[\w.-]+)? )? \#\d+ \b |   # 1, owner#1, owner/repo#1
  \bGH-\d+\b |
  \b[\w-]+(?:/[\w.-]+)?@\h{7,40}\b                      # owner@sha, owner/repo@sha
}xi
SPLIT = Set.new(%w[p h1 h2 h3 h4 h5 h6 li td th div blockquote ul ol dl dt dd table tr pre hr summary details figure section]).freeze

# flat is the text below a node, and a line break between blocks. The elements
# in hide are one character that no word has.
def flat(node, out, hide = [])
  node.children.each do |c|
    if c.text?
      out << c.text
    elsif c.element?
      if hide.include?(c.name)
        out << "\u{fffc}"
      elsif c.name == 'br'
        out << "\n"
      else
        out << "\n" if SPLIT.include?(c.name)
        flat(c, out, hide)
        out << "\n" if SPLIT.include?(c.name)
      end
    end
  end
  out
end

# raw lists what the parser took as HTML, word by word.
def raw(doc)
  found = []
  doc.walk { |n| found << n.string_content if n.type == :html || n.type == :inline_html } rescue nil
  found
end

# CLEANER is what the sanitizing filter makes anew for each text.
CLEANER = Sanitize.new(PIPELINE::SanitizationFilter.new('').allowlist)

def clean(html)
  CLEANER.node!(PIPELINE.parse(html))
end

# ELEMENTS remembers which elements a piece of HTML leaves: most come often.
ELEMENTS = Hash.new do |known, html|
  known.clear if known.size > 10_000
  known[html] = clean(html).css('*').map(&:name)
end

# effects adds to out what the elements below a node do.
def effects(node, out)
  node.children.each do |c|
    next unless c.element?
    case c.name
    when 'img'
      out[:images] << c['src'].to_s
      out[:alt] << c['alt'] unless c['alt'].to_s.empty?
    when 'a'
      out[:links] << { href: c['href'], text: c.text } if c['href']
    when 'details'
      out[:collapsed] << flat(c, +'').strip unless c['open']
    end
    out[:titles] << c['title'] if c['title']
    effects(c, out)
  end
  out
end

def show(text)
  text = text.scrub.gsub(/\r\n?/, "\n")
  tree = CommonMarker.render_doc(text, PARSE, EXTENSIONS)
  doc = clean(tree.to_html(RENDER, EXTENSIONS))
  raw = raw(tree)
  out = effects(doc, { images: [], links: [], alt: [], titles: [], collapsed: [] })
  out[:raw] = raw
  out[:elements] = raw.flat_map { |h| ELEMENTS[h] }
  out[:visible] = flat(doc, +'')
  out[:closing] = flat(doc, +'', %w[code pre]).scan(CLOSING)
  out[:references] = flat(doc, +'', %w[code pre a]).scan(REFERENCE)
  result = { mentioned_usernames: [] }
  teams = []
  if out[:visible].include?('@')
    doc = PIPELINE::TeamMentionFilter.new(doc, { base_url: '/' }, result).call
    doc = PIPELINE::MentionFilter.new(doc, { base_url: '/' }, result).call
    teams = doc.css('a.team-mention').map { |a| a.text.delete_prefix('@') }
  end
  out[:mentions] = result[:mentioned_usernames] + teams
  out[:html] = doc.to_html
  out
end

$stdin.set_encoding('UTF-8')
$stdout.sync = false
$stdin.each_line do |line|
  q = JSON.parse(line)
  answer = begin
    show(q['text'])
  rescue StandardError => e
    { error: "#{e.class}: #{e.message}" }
  end
  $stdout.write(JSON.generate({ id: q['id'] }.merge(answer)), "\n")
  $stdout.flush
end
