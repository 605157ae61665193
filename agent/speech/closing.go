package speech

import (
	"slices"
	"strings"
	"unicode"

	"github.com/handrail-bot/handrail/policy/pattern"
)

// The words by which models claim a change and announce work, at the beginning of a
// sentence and in the languages that models are asked in most. They decide only if the
// model is asked once more: the tree decides if anything changed. Words in another
// language count as an answer.
var (
	claimFirst = pattern.Lazy(
		`(?i)^(?:(?:all|now|successfully|c'est) )*(?:` + englishDone + `|` + otherDone + `)(?:\PL|$)` +
			`|^(?:it|this|that|everything)(?:'s| is| has been)(?: now| all)? (?:` + englishDone + `)(?:$|[.,!]| and | now| everywhere)` +
			`|^(?:the|das|die|der|le|la|les|el|los|il|het|de) (?:\S+ ){1,6}?(?:is now|are now|has been|have been` +
			`|ist jetzt|ist nun|wurde|est maintenant|ha sido|foi|è stato)(?: \S+)? (?:` + englishDone +
			`|behoben|geändert|korrigiert|corrigée?|modifiée?|corregid[oa]|corrigid[oa]|corretto)(?:\PL|$)`,
	)
	claimSelf = pattern.Lazy(
		`(?i)^(?:(?:i|we)(?:'ve| have| just| now| also| already| then| successfully)* (?:` + englishDone +
			`|made|wrote|written)(?:\PL|$)` +
			`|ich habe .{0,80}(?:geändert|behoben|korrigiert|hinzugefügt|angepasst|entfernt|umbenannt|erstellt|gelöscht)` +
			`|j'ai (?:corrigé|ajouté|modifié|changé|supprimé|renommé|créé|mis à jour)` +
			`|he (?:corregido|añadido|cambiado|modificado|eliminado|creado|arreglado|actualizado)` +
			`|(?:eu )?(?:corrigi|adicionei|alterei|mudei|removi|criei|atualizei) ` +
			`|ho (?:corretto|aggiunto|modificato|cambiato|rimosso|creato|aggiornato)` +
			`|ik heb .{0,80}(?:aangepast|gewijzigd|toegevoegd|opgelost|verwijderd)|(?:naprawił|doda|zmieni|usun)\S*m ` +
			`|(?:я )?(?:исправил|добавил|изменил|удалил|обновил|переименовал)` +
			`|我?(?:已经|已)(?:修复|修改|更新|添加|完成|删除|重命名|更改)(?:[^的]|$)` +
			`|.*(?:修正|変更|追加|更新|削除|対応|完了)しました|.*(?:수정|변경|추가|삭제|완료)(?:했|하였|됐|되었)습니다)`,
	)
	negates = pattern.Lazy(
		`(?i)(?:^|\PL)(?:no|not|nothing|none|never|cannot|nicht|nichts|kein\pL*|rien|aucune?|nada|ningun\pL*` +
			`|niente|nessun\pL*|niets|geen|nic|nie|не|ничего)(?:\PL|$)|n't|没有|未|なし|ません|않`,
	)
	// describes matches a sentence about things that a participle names: "Deleted files are kept".
	describes = pattern.Lazy(`(?i)^(?:` + englishDone + `) ([\pL-]+(?: [\pL-]+)?) ` +
		`(?:is|are|was|were|will|has|have|had|can|may|must|should|gets?|goe?s?|lives?|stays?|remains?|come|appear)(?:\PL|$)`)
	announces = pattern.Lazy(`(?i)^(?:(?:okay|ok|sure|now|so|first|next|then|zuerst|d'abord|primero|primeiro),? )*` +
		`(?:i will|i'll|i am going to|i'm going to|i need to|let me|let's|lass mich|laissez-moi|déjame|deixe-me)` +
		`(?: (\pL+)|$)` +
		`|^(?:ich (?:werde|lese|schaue|ändere|suche)|(?:zuerst|als erstes|als nächstes) \S+ ich(?:\PL|$)` +
		`|(?:d'abord,? )?je vais|d'abord,? je |(?:primero,? )?voy a|primero,? \S+ré(?:\PL|$)|(?:primeiro,? )?vou ` +
		`|primeiro,? \S+rei(?:\PL|$)|per prima cosa,? \S+rò(?:\PL|$)|ik ga|eerst \S+ ik(?:\PL|$)` +
		`|najpierw \S+[ęm](?:\PL|$)|сначала \S+[ую](?:\PL|$)|(?:сначала |сейчас )?я (?:сейчас|буду|посмотрю|прочитаю)` +
		`|давайте|(?:首先|接下来)?[，,]?(?:我会|我将|我来|我先|让我)|(?:まず|これから).*(?:確認します|てみます|ましょう)` +
		`|(?:먼저|이제) .*겠습니다)`)
	offers = pattern.Lazy(`(?i)\bif you(?:'d)? (?:want|like|wish|prefer)\b|\b(?:happy|glad) to\b`)
)

// Participles of changes.
const (
	englishDone = `done|finished|completed|fixed|repaired|mended|resolved|solved|added|created|implemented|changed|updated` +
		`|modified|edited|renamed|moved|removed|deleted|replaced|refactored|rewritten|corrected|adjusted|applied|inserted` +
		`|converted|reverted`
	otherDone = `erledigt|fertig|behoben|geändert|korrigiert|hinzugefügt|fait|terminé|corrigé|ajouté|modifié` +
		`|hecho|listo|corregido|arreglado|feito|pronto|corrigido|fatto|corretto|klaar|opgelost|aangepast|gotowe|naprawione` +
		`|готово|сделано|исправлено|добавлено|изменено|удалено`
)

// refrains are words after an announcement that take it back, or turn it to the reader.
const refrains = " know not never leave wait gladly happily wissen savoir saber "

// bound are words that make the text behind a participle its object.
const bound = " the a an this that these those which so and it them all both in to of for by with as "

// ClaimsChange reports whether a closing message says that a change was made, or says
// nothing at all.
func ClaimsChange(text string) bool {
	list := sentences(text)
	for i, s := range list {
		claims := i == 0 && claimFirst().MatchString(s) && !describesThings(s) || claimSelf().MatchString(s)
		if claims && !negates().MatchString(s) {
			return true
		}
	}
	return len(list) == 0
}

// describesThings reports whether a sentence that begins with a participle has things with
// that participle for its subject.
func describesThings(sentence string) bool {
	m := describes().FindStringSubmatch(sentence)
	return m != nil && !slices.ContainsFunc(strings.Fields(strings.ToLower(m[1])), func(word string) bool {
		return strings.Contains(bound, " "+word+" ")
	})
}

// Announces reports whether a message without a call ends with the announcement of work:
// by a colon or dots, or by its last sentence.
func Announces(text string) bool {
	text = strings.TrimRightFunc(text, func(r rune) bool { return unicode.IsSpace(r) || r == '*' || r == '_' })
	for _, end := range []string{":", "：", "…", "..."} {
		if strings.HasSuffix(text, end) {
			return true
		}
	}
	list := sentences(text)
	if len(list) == 0 {
		return false
	}
	last := list[len(list)-1]
	m := announces().FindStringSubmatch(last)
	return m != nil && !offers().MatchString(last) && !strings.Contains(refrains, " "+strings.ToLower(m[1])+" ")
}

// sentences splits a text into its sentences, without marks before their first letter.
// Fenced code is left out.
func sentences(text string) (out []string) {
	fenced, rest := false, strings.ReplaceAll(text, "’", "'")
	for line := range strings.Lines(rest) {
		if t := strings.TrimSpace(line); strings.HasPrefix(t, "```") || strings.HasPrefix(t, "~~~") {
			fenced = !fenced
			continue
		}
		if fenced {
			continue
		}
		for line != "" {
			end := sentenceEnd(line)
			s := strings.TrimLeftFunc(line[:end], func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
			if s = strings.TrimSpace(s); s != "" {
				out = append(out, s)
			}
			line = line[end:]
		}
	}
	return out
}

// sentenceEnd returns the end of the first sentence of a line. A full stop ends one only
// before a space, so that it may stand in the name of a file.
func sentenceEnd(line string) int {
	for i, r := range line {
		next := i + len(string(r))
		switch {
		case strings.ContainsRune("。！？", r):
			return next
		case strings.ContainsRune(".!?;", r) && (next == len(line) || strings.ContainsAny(line[next:next+1], " \t\r\n")):
			return next
		}
	}
	return len(line)
}
