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

# HIDDEN stands for an element that is left out: no word has this character.
HIDDEN = "\u{fffc}"

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

# read adds to out what the elements below a node show and do, in one walk: each step from
# node to node is slow. Texts outside of code go to plain, and those outside of links, too,
# to bare; nil takes nothing.
def read(node, out, plain, bare)
  node.children.each do |c|
    if c.text?
      text = c.text
      [out[:visible], plain, bare].each { |to| to << text if to }
    elsif c.element?
      effect(c, out)
      if c.name == 'br'
        [out[:visible], plain, bare].each { |to| to << "\n" if to }
      else
        within(c, out, plain, bare)
      end
    end
  end
  out
end

# within reads an element other than a line break.
def within(node, out, plain, bare)
  if %w[code pre].include?(node.name)
    plain << HIDDEN if plain
    bare << HIDDEN if bare
    plain = bare = nil
  elsif node.name == 'a'
    bare << HIDDEN if bare
    bare = nil
  end
  ends = SPLIT.include?(node.name) ? [out[:visible], plain, bare].compact : []
  ends.each { |to| to << "\n" }
  read(node, out, plain, bare)
  ends.each { |to| to << "\n" }
end

# effect adds to out what an element does.
def effect(node, out)
  case node.name
  when 'img'
    out[:images] << node['src'].to_s
    out[:alt] << node['alt'] unless node['alt'].to_s.empty?
  when 'a'
    out[:links] << { href: node['href'], text: node.text } if node['href']
  when 'details'
    out[:collapsed] << read(node, empty, nil, nil)[:visible].strip unless node['open']
  end
  out[:titles] << node['title'] if node['title']
end

def empty
  { images: [], links: [], alt: [], titles: [], collapsed: [], visible: +'' }
end

def show(text)
  text = text.scrub.gsub(/\r\n?/, "\n")
  tree = CommonMarker.render_doc(text, PARSE, EXTENSIONS)
  doc = clean(tree.to_html(RENDER, EXTENSIONS))
  raw = raw(tree)
  plain, bare = +'', +''
  out = read(doc, empty, plain, bare)
  out[:raw] = raw
  out[:elements] = raw.flat_map { |h| ELEMENTS[h] }
  out[:closing] = plain.scan(CLOSING)
  out[:references] = bare.scan(REFERENCE)
  result = { mentioned_usernames: [] }
  teams = []
  if out[:visible].include?('@')
    doc = PIPELINE::TeamMentionFilter.new(doc, { base_url: '/' }, result).call
    doc = PIPELINE::MentionFilter.new(doc, { base_url: '/' }, result).call
  end
  out[:html] = doc.to_html
  teams = doc.css('a.team-mention').map { |a| a.text.delete_prefix('@') } if out[:html].include?('team-mention')
  out[:mentions] = result[:mentioned_usernames] + teams
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
