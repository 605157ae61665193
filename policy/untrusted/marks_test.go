package untrusted

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
)

// families are the marks of chat templates, by the family that has them.
var families = map[string][]string{
	"chatml": {"<|im_start|>", "<|im_end|>", "<|im_sep|>"}, "llama 3": {"<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<|eom_id|>", "<|python_tag|>", "<|begin_of_text|>"},
	"llama 2": {"[INST]", "[/INST]", "<<SYS>>", "<</SYS>>", "<s>", "</s>"}, "llama 4": {"<|header_start|>", "<|eot|>"},
	"gemma": {"<start_of_turn>", "<end_of_turn>", "<bos>", "<eos>", "<unused12>", "<start_of_image>"}, "gemma 4": {"<|turn>", "<turn|>", "<|tool_call>", "<tool_call|>", "<|channel>", "<channel|>"},
	"function gemma": {"<start_function_call>", "<end_function_response>", "<escape>"},
	"mistral":        {"[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_CALLS]", "[TOOL_RESULTS]", "[SYSTEM_PROMPT]", "[IMG]", "[THINK]", "[ARGS]", "[CALL_ID]", "[control_8]"},
	"deepseek":       {"<｜User｜>", "<｜Assistant｜>", "<｜end▁of▁sentence｜>", "<｜tool▁calls▁begin｜>", "<｜tool▁outputs▁end｜>"},
	"command r":      {"<|START_OF_TURN_TOKEN|>", "<|END_OF_TURN_TOKEN|>", "<|CHATBOT_TOKEN|>", "<BOS_TOKEN>", "<results>"},
	"harmony":        {"<|start|>", "<|channel|>", "<|message|>", "<|end|>", "<|call|>", "<|return|>"},
	"granite":        {"<|start_of_role|>", "<|end_of_role|>", "<|end_of_text|>", "<fim_prefix>"}, "phi": {"<|user|>", "<|assistant|>", "<|system|>", "<|endoftext|>"},
	"glm": {"[gMASK]", "[sMASK]", "<sop>", "<eop>", "<|observation|>", "<arg_key>"}, "kimi": {"<|im_middle|>", "<|im_user|>", "<|tool_calls_section_begin|>"},
	"qwen":    {"<tool_call>", "</tool_call>", "<tool_response>", "<think>", "</think>", "<|vision_start|>", "<tools>", "<function=read>", "</function>", "<parameter=path>"},
	"minimax": {"]~b]", "]~!b[", "[e~[", "]<]minimax[>["}, "falcon": {">>QUESTION<<", ">>ANSWER<<"}, "nemotron": {"<extra_id_0>", "<SPECIAL_12>", "<TOOLCALL>"},
	"internlm": {"<eoh>", "<eoa>", "<|action_start|>"}, "seed": {"<seed:bos>", "<seed:tool_call>", "<seed:cot_budget_reflect>"}, "alfred": {"<start_user>", "<end_message>"},
	"laguna": {"<user>", "</user>", "<assistant>", "<system>", "<available_tools>"}, "bert": {"[CLS]", "[SEP]", "[MASK]", "[PAD]", "[UNK]", "[unused3]"},
	"alpaca": {"\n### Instruction:", "\n### Response:"}, "solar": {"\n### User:", "\n### System:"}, "magicoder": {"\n@@ Instruction", "\n@@ Response"},
	"vicuna": {"\nUSER:", "\nASSISTANT:"}, "chatqa": {"\nUser:", "\nAssistant:", "\nSystem:"}, "granite 1": {"\nQuestion:", "\nAnswer:"}, "openchat": {"\nGPT4 Correct User:"},
	"exaone": {"[|system|]", "[|user|]", "[|endofturn|]", "[｜assistant｜]"}, "ling": {"<role>", "</role>", "<role>HUMAN</role>"}, "starcoder": {"<reponame>", "<gh_stars>"}, "olmo": {"|||EMAIL_ADDRESS|||", "|||IP_ADDRESS|||"},
	"underscore": {"<_system>", "<_user>", "</_end>", "<_SYSTEM>", "<▁end>"}, "like angles": {"‹｜end▁of▁sentence｜›", "‹end▁of▁turn›", "⟨start_of_turn⟩", "〈im_end｜〉", "‹|im_end|›"},
	"full width": {"＜|im_end|＞", "＜｜User｜＞"}, "plain": {"<step>", "<unk>", "<0x0A>", "<mask:1>", "<|anything at all|>", "<|", "<｜"},
}

func TestMarksOfAllFamilies(t *testing.T) {
	for family, list := range families {
		for _, m := range list {
			for _, s := range []string{m, "a" + m + "b", m + m, "x\n" + strings.TrimSpace(m) + "\n", "<" + m, bar + m, m + bar, m[:1] + bar + m[1:]} {
				got := BreakMarks(s)
				if strings.Contains(got, m) {
					t.Errorf("%s: %q passes as %q", family, s, got)
				}
				if back := MendMarks(got); back != s {
					t.Errorf("%s: %q comes back as %q", family, s, back)
				}
			}
		}
	}
}

func TestBreakKeeps(t *testing.T) {
	for _, s := range []string{
		"if a < b || c > d {}", "x := m[i][j]", "vector<size_t> v; Map<String, List<Integer>>", "cat <<EOF\nx\nEOF", "[ERROR] it failed\n[INFO] done", "a |> f |> g", "<div class=\"a\">x</div>",
		"[x] done", "- [ ] open", "[0-9a-f]+", "arr[N]", "1 << 3 >> 2", "see [text](url)", "the user: x", "## Instruction", "a ¦ b", "¦¦", "[TASK_COMPLETE]",
		"std::vector<_Tp, _Alloc> v; std::move<_CharT>(x)", "let v: Vec<_> = xs.into_iter().collect::<Vec<_>>()", "a || b ||| c", "‹guillemets› and ⟨x|y⟩", "[|] [||] | a | b |", "List[int | None] [|x| > 1]",
	} {
		if got := BreakMarks(s); got != s {
			t.Errorf("%q becomes %q", s, got)
		}
		if got := MendMarks(s); got != s {
			t.Errorf("%q is mended to %q", s, got)
		}
	}
	if got, want := BreakMarks("<|im_end|> and [INST] and \nUser: x"), "<¦|im_end|> and [¦INST] and \nUser¦: x"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := MendMarks(`<¦\|im_end\|>|\[¦INST\]`); got != `<\|im_end\|>|\[INST\]` {
		t.Errorf("the regular expression is %q", got)
	}
	own := func(name string) bool { return name == "edit_file" || name == "old_string" }
	const tags = "<edit_file>\n<old_string>x</old_string>\n</edit_file>"
	if s := "<tool_call>{}</tool_call> <function=x> [TOOL_CALLS]" + tags; BreakAnswer(s, own) != s || BreakAnswer("</s>", own) == "</s>" {
		t.Error("a model's own calls do not stay, or its other marks do")
	}
	for _, s := range []string{"<tool_response>", "<start_of_turn>", "<|edit_file|>", "<|im_end|>", "<edit_file|>", "[INST]"} {
		if BreakAnswer(s, own) == s {
			t.Errorf("%s stays whole in an answer", s)
		}
	}
	if BreakAnswer(tags, nil) == tags || BreakMarks(tags) == tags {
		t.Error("tags of tools stay where nobody knows them")
	}
}

func TestJSON(t *testing.T) {
	in := json.RawMessage(`{"a" : "x<|im_end|>", "b":["<\/s>",1.50,"plain <b>"], "<s>":{"c":"\u003c|e|\u003e"},"d":"\"[INST]\\"}`)
	got := BreakMarksInJSON(in)
	if want := `{"a" : "x<¦|im_end|>", "b":["<¦/s>",1.50,"plain <b>"], "<¦s>":{"c":"<¦|e|>"},"d":"\"[¦INST]\\"}`; string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for _, s := range []string{string(got), strings.ReplaceAll(string(got), "¦", `\u00a6`)} {
		var want, back any
		if json.Unmarshal(in, &want) != nil || json.Unmarshal(MendMarksInJSON(json.RawMessage(s)), &back) != nil {
			t.Fatal("no JSON")
		}
		if a, b := quoted(string(mustJSON(want))), quoted(string(mustJSON(back))); string(a) != string(b) {
			t.Errorf("%s comes back as %s", a, b)
		}
	}
	if same := json.RawMessage(`{"a":"\u0061\/","n":1e3}`); string(BreakMarksInJSON(same)) != string(same) {
		t.Error("arguments without marks change")
	}
}

func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// What is broken comes back byte for byte, whatever it is made of, and has no mark of
// any family.
func TestBreakComesBack(t *testing.T) {
	pieces := []string{"<", ">", "|", "[", "]", "/", "\\", bar, bar, "<<", ">>", "SYS", "INST", "s", "_", "im_end", "¦|", "｜", "▁", "\n", " ", ":", "User", "###", "~", "e~[", "]~b]", "\xc2", "\xa6", "\xff", "＜", "é", "x"}
	for _, list := range families {
		pieces = append(pieces, list...)
	}
	r := rand.New(rand.NewPCG(3, 4))
	for range 40_000 {
		var b strings.Builder
		for range 1 + r.IntN(8) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		check(t, b.String())
	}
}

func check(t *testing.T, s string) {
	t.Helper()
	got := BreakMarks(s)
	if back := MendMarks(got); back != s {
		t.Fatalf("%q is broken to %q and comes back as %q", s, got, back)
	}
	for family, list := range families {
		for _, m := range list {
			if m[0] != '\n' && strings.Contains(got, m) {
				t.Fatalf("%s: %q becomes %q, which has %q", family, s, got, m)
			}
		}
	}
}

func FuzzBreak(f *testing.F) {
	for _, list := range families {
		f.Add(strings.Join(list, "¦"))
	}
	f.Fuzz(check)
}

func BenchmarkBreak(b *testing.B) {
	text := strings.Repeat("func f(a []int, m map[string]T) (x <-chan int) { return a[i] < b && <div>[INFO] {\n", 1000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		BreakMarks(text)
	}
}
