package local

import (
	"net/http"
	"os"
	"path/filepath"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/cmd/door"
)

// maxPicture is the maximum size of a picture for the model, in bytes.
const maxPicture = 8 << 20

// Pictures reads files for a vision model.
func Pictures(files []string) ([]session.Blob, error) {
	var out []session.Blob
	for _, name := range files {
		info, err := os.Stat(name)
		if err != nil {
			return nil, door.Usage("read picture: %w", err)
		}
		if info.Size() > maxPicture {
			return nil, door.Usage("picture %s has %d bytes, more than %d; make it smaller", name, info.Size(), maxPicture)
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, door.Usage("read picture: %w", err)
		}
		kind := http.DetectContentType(data)
		switch kind {
		case "image/png", "image/jpeg", "image/gif", "image/webp":
		default:
			return nil, door.Usage("%s is no picture that models take (PNG, JPEG, GIF or WebP); it looks like %s", name, kind)
		}
		out = append(out, session.Blob{Name: filepath.Base(name), Type: kind, Data: data})
	}
	return out, nil
}
