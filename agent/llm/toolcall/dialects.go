package toolcall

// dialect is the call format of a family of models: the marks that begin a call, and the
// function that reads it. Marks are written in the form returned by [lexMark]: tags
// without namespace and in lower case, tokens with plain bars and underscores. A new
// dialect is one row in the table, a function in a separate file if the common grammar is
// not enough, and cases in testdata.
type dialect struct {
	name   string
	opens  []string // marks before a call or a list of calls
	closes []string // in addition to the closing forms of opens: </tool_call>, [/TOOL_CALLS]
	inside []string // separators between the parts of a call
	line   string   // possible first bytes of a call at the start of a line
	read   readFunc
}

// readFunc reads the calls at an offset. ok is false if there are none. It need not
// report whether more text could complete a call: the text records that (see [text]).
type readFunc func(s *scanner, at int) (seg segment, ok bool)

// reader reads the calls of one dialect.
type reader struct {
	dialect string
	read    readFunc
}

func (d dialect) reader() reader { return reader{d.name, d.read} }

// dialects returns the table. Dialects that begin a line are tried in its order. Two
// forms are found by the scanner itself (scan.go): a tag named like a tool, since only
// the parser knows the names, and markup written with HTML entities.
func dialects() []dialect {
	region := region
	return []dialect{
		{
			name:  "hermes, qwen, granite, glm",
			read:  region,
			opens: []string{"<tool_call>", "<tool_calls>", "<toolcall>", "<toolcalls>"},
		},
		{
			name:  "function tags",
			read:  region,
			opens: []string{"<function_call>", "<function_calls>", "<functioncall>", "<functioncalls>", "<multiplefunctions>"},
		},
		{
			name:  "code and use tags",
			read:  region,
			opens: []string{"<tool_code>", "<tools>", "<tool_use>", "<use_tool>", "<call_tool>", "<tool_request>", "<toolcode>"},
		},
		{name: "longcat", read: region, opens: []string{"<longcat_tool_call>"}},
		{name: "named tags", read: region, opens: []string{"<function>", "<invoke>", "<tool>"}},
		{
			name:   "mistral",
			read:   region,
			opens:  []string{"[TOOL_CALLS]", "[TOOL_CALL]"},
			inside: []string{"[ARGS]", "[CALL_ID]"},
		},
		{
			name:   "request brackets",
			read:   region,
			opens:  []string{"[TOOL_REQUEST]", "[FUNCTION_CALL]"},
			closes: []string{"[END_TOOL_REQUEST]"},
		},
		{name: "llama 3", read: region, opens: []string{"<|python_tag|>"}, closes: []string{"<|eom_id|>", "<|eot_id|>"}},
		{name: "llama 4", read: region, opens: []string{"<|python_start|>"}, closes: []string{"<|python_end|>"}},
		{name: "deepseek", read: region, opens: []string{"<|tool_calls_begin|>", "<|tool_call_begin|>"},
			closes: []string{
				"<|tool_call_end|>",
				"<|tool_calls_end|>",
				"<|end_of_sentence|>",
			}, inside: []string{"<|tool_sep|>"}},
		{name: "kimi k2", read: region, opens: []string{"<|tool_calls_section_begin|>", "<|tool_call_section_begin|>"},
			closes: []string{
				"<|tool_calls_section_end|>",
				"<|tool_call_section_end|>",
			}, inside: []string{"<|tool_call_argument_begin|>"}},
		{
			name:   "granite, phi",
			read:   region,
			opens:  []string{"<|tool_call|>", "<|tool_calls|>"},
			closes: []string{"<|end_of_text|>"},
		},
		{name: "lfm2", read: region, opens: []string{"<|tool_call_start|>"}, closes: []string{"<|im_end|>"}},
		{name: "command r", read: region, opens: []string{"<|start_action|>"}, closes: []string{"<|end_action|>"}},
		{
			name:   "internlm",
			read:   region,
			opens:  []string{"<|action_start|>"},
			closes: []string{"<|action_end|>"},
			inside: []string{"<|plugin|>", "<|interpreter|>"},
		},
		{name: "apertus", read: region, opens: []string{"<|tools_prefix|>"}, closes: []string{"<|tools_suffix|>"}},
		{
			name:   "function gemma",
			read:   region,
			opens:  []string{"<start_function_call>"},
			closes: []string{"<end_function_call>"},
		},
		{name: "functionary 2", read: region, opens: []string{"<|recipient|>"}, inside: []string{"<|content|>"}},
		{
			name:  "function tokens",
			read:  region,
			opens: []string{"<|function_call|>", "<|function_calls|>", "<|tool_use|>", "<|tool_code|>"},
		},
		{name: "harmony (gpt-oss)", read: channel, opens: []string{"<|channel|>", "<|start|>"},
			closes: []string{"<|call|>", "<|end|>", "<|return|>"}, inside: []string{"<|constrain|>", "<|message|>"}},
		{name: "harmony without its tokens", read: commentary, line: "c"},
		{name: "functionary", read: recipients, line: ">"},
		{name: "qwen agent", read: qwenAgent, line: "\xe2"},
		{name: "functools (phi, firefunction)", read: functools, line: "f"},
		{name: "react, labels", read: labeledCall, line: "AaCcFfTt*"},
		{name: "bare JSON (llama 3)", read: bareJSON, line: "{["},
		{name: "name and JSON (glm 4), python (llama 4, gemma)", read: bareNamed, line: letters},
		{name: "code fences", read: callFence, line: "`~"},
	}
}

const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_"

// thinkTags enclose thinking; calls inside do not count.
var thinkTags = [...][2]string{
	{"<think>", "</think>"}, {"<thinking>", "</thinking>"}, {"<thought>", "</thought>"}, {"<reasoning>", "</reasoning>"},
	{
		"<|START_THINKING|>",
		"<|END_THINKING|>",
	}, {"[THINK]", "[/THINK]"}, {"<seed:think>", "</seed:think>"}, {"◁think▷", "◁/think▷"},
}

// roleTokens begin a message of the assistant.
var roleTokens = [...]string{
	"<|im_start|>assistant\n", "<|start_header_id|>assistant<|end_header_id|>",
	"<|header_start|>assistant<|header_end|>", "<|start_of_role|>assistant<|end_of_role|>",
	"<|im_assistant|>assistant<|im_middle|>", "<|assistant|>", "<start_of_turn>model\n", "<｜Assistant｜>",
}

// stopWords end a message and are not prose.
var stopWords = [...]string{
	"<|im_end|>", "</s>", "<|eot_id|>", "<|eom_id|>", "<end_of_turn>", "<|end|>", "<|eot|>", "<|observation|>",
	"<|user|>", "<|stop|>", "<eos>", "<bot_end>", "<|endoftext|>", "<｜end▁of▁sentence｜>",
}
