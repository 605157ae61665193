package speech

import "testing"

// A triage in prose or in a bare object is read like a call; other words are none.
func TestTriage(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"an object":         {"Here it is:\n```json\n{\"labels\": [\"bug\"], \"duplicates\": [], \"reason\": \"x\"}\n```", `{"duplicates":[],"labels":["bug"]}`},
		"behind another":    {`{"a": 1} {"question": "Which version?"}`, `{"question":"Which version?"}`},
		"lines":             {"**Labels:** `bug`, `needs info`\n**Duplicates:** #12\n**Question:** Which version?\n[TASK_COMPLETE]", `{"duplicates":"#12","labels":"bug, needs info","question":"Which version?"}`},
		"a list":            {"Suggested labels:\n- bug\n- docs\n\nThe rest is fine.", `{"labels":"bug\ndocs"}`},
		"a sentence":        {text: "I would label this as a bug, since it crashes."},
		"labels in a story": {text: "The chart labels of both axes overlap in the picture: x and y."},
		"no part":           {text: `{"name": "read_file"}`},
		"nothing":           {text: ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			for _, c := range Triage(tt.text, 3) {
				if c.Name != "triage_issue" || c.ID == "" || !c.Text {
					t.Errorf("the call is %+v", c)
				}
				got += string(c.Arguments)
			}
			if got != tt.want {
				t.Errorf("read %s, want %s", got, tt.want)
			}
		})
	}
}
