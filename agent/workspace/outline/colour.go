package outline

import (
	"slices"
	"strings"
	"sync"
)

// Part is a part of a text. Kind is "word" for a word of the language, "string", "number"
// or "comment", and empty for the rest.
type Part struct{ Kind, Text string }

// maxColoured is the maximum number of bytes that are split into parts.
const maxColoured = 512 << 10

// languageWords are the words of the languages that a reader looks for.
var languageWords = sync.OnceValue(wordsOf)

func wordsOf() map[string][]string {
	words := map[string][]string{}
	const curly = "break case catch class const continue default do else enum false finally for if import in interface " +
		"new null private protected public return static super switch this throw true try void while "
	const script = curly + "as async await delete export extends from function get instanceof let of set typeof undefined var yield "
	const c = curly + "auto bool char double extern float goto int long short signed sizeof struct typedef union unsigned volatile "
	for lang, list := range map[string]string{
		"go":     "break case chan const continue default defer else fallthrough false for func go goto if import interface map nil package range return select struct switch true type var",
		"python": "False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield",
		"rust":   "as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref return self static struct super trait true type unsafe use where while",
		"ruby":   "alias and begin break case class def do else elsif end ensure false for if in module next nil not or redo rescue retry return self super then true undef unless until when while yield",
		"php":    curly + "abstract and array as echo elseif endforeach endif extends fn foreach function global implements match namespace or use var yield",
		"lua":    "and break do else elseif end false for function goto if in local nil not or repeat return then true until while",
		"shell":  "case do done elif else esac export fi for function if in local return then until while",
		"java":   curly + "abstract boolean byte char double extends final float implements instanceof int long package record short synchronized throws var volatile",
		"csharp": curly + "abstract as async await base bool byte char decimal double event extern float foreach get int internal is long namespace object out override params readonly record ref sealed set string struct uint using var virtual where",
		"kotlin": curly + "as by companion data fun internal is object open override package sealed suspend val var when",
		"swift":  curly + "as actor associatedtype defer deinit extension fileprivate func guard init inout internal is let nil open protocol repeat self some struct throws typealias var where",
		"scala":  curly + "abstract def extends final given implicit lazy match object override package sealed then trait type using val var with yield",
		"c":      c, "cpp": c + "concept constexpr delete explicit friend inline namespace noexcept nullptr operator override template typename using virtual",
		"javascript": script, "typescript": script + "abstract any boolean declare implements keyof namespace never number readonly string type unknown",
	} {
		words[lang] = strings.Fields(list)
		slices.Sort(words[lang])
	}
	words["tsx"] = words["typescript"]
	return words
}

// Colour splits a part of a file into parts by their kind; together they are the text. It
// returns nil if the language of the file is not supported, or the text too long.
func Colour(name, text string) (out []Part) {
	lang := Language(name)
	if lang == "" || len(text) > maxColoured {
		return nil
	}
	f := newFile(lang, []byte(text))
	f.lex()
	add := func(kind, text string) {
		if n := len(out); n > 0 && out[n-1].Kind == kind {
			out[n-1].Text += text
		} else if text != "" {
			out = append(out, Part{kind, text})
		}
	}
	gap := func(text string) { // between tokens are blanks and comments
		rest := strings.TrimLeft(text, " \t\r\n\f")
		note := strings.TrimRight(rest, " \t\r\n\f")
		add("", text[:len(text)-len(rest)])
		add("comment", note)
		add("", rest[len(note):])
	}
	end := 0
	for _, t := range f.toks {
		gap(text[end:t.at])
		add(f.kindOf(t), t.text)
		end = t.at + len(t.text)
	}
	if f.steps < maxSteps {
		gap(text[end:])
	} else {
		add("", text[end:])
	}
	return out
}

// kindOf returns the kind of a token for display.
func (s *source) kindOf(t token) string {
	_, known := slices.BinarySearch(languageWords()[s.lang], t.text)
	switch {
	case t.kind == aText:
		return "string"
	case t.kind == aHash, t.kind == aWord && known:
		return "word"
	case t.kind == aWord && t.text[0] >= '0' && t.text[0] <= '9':
		return "number"
	}
	return ""
}
