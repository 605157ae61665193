package gitops

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"

	"github.com/handrail-bot/handrail/gitops/objects"
)

// contents are requested with version 2 of the protocol: it accepts any object id, and
// the server need not check its refs.

// promises reports whether a remote supports partial clones: it sends commits without
// contents, and contents by id.
func (w *wire) promises(ctx context.Context, remote string) (bool, error) {
	s, err := w.fetchService(ctx, remote)
	if err != nil {
		return false, err
	}
	body, err := s.advertisement(ctx)
	if err != nil {
		return false, err
	}
	defer body.Close()
	second := false
	scan := pktline.NewScanner(io.LimitReader(body, 1<<20))
	for scan.Scan() {
		line := strings.TrimSpace(string(scan.Bytes()))
		second = second || line == "version 2"
		if can, ok := strings.CutPrefix(line, "fetch="); ok && second {
			return slices.Contains(strings.Fields(can), "filter"), nil
		}
		if !second && line != "" && !strings.HasPrefix(line, "#") {
			return false, nil // another protocol version
		}
	}
	return false, scan.Err()
}

// fetchService returns the fetch service with version 2 of the protocol.
func (w *wire) fetchService(ctx context.Context, remote string) (*service, error) {
	s, err := w.service(ctx, remote, "git-upload-pack", AccessRead)
	if err == nil {
		s.v2 = true
	}
	return s, err
}

// contents requests objects by id and returns a pack with exactly these. If the remote
// lacks one of them, the error is [objects.ErrNotFound].
func (w *wire) contents(ctx context.Context, remote string, ids []plumbing.Hash) (io.ReadCloser, error) {
	var body bytes.Buffer
	e := pktline.NewEncoder(&body)
	err := e.EncodeString("command=fetch\n")
	body.WriteString("0001")
	err = errors.Join(err, e.EncodeString("ofs-delta\n", "no-progress\n"))
	for _, h := range ids {
		err = errors.Join(err, e.Encodef("want %s\n", h))
	}
	if err = errors.Join(err, e.EncodeString("done\n"), e.Flush()); err != nil {
		return nil, err
	}
	s, err := w.fetchService(ctx, remote)
	if err != nil {
		return nil, err
	}
	res, err := s.Post(ctx, bytes.NewReader(body.Bytes()), int64(body.Len()))
	if errors.Is(err, errRedirect) { // the repository was renamed
		var where io.ReadCloser
		if where, err = s.advertisement(ctx); err == nil {
			where.Close()
			res, err = s.Post(ctx, bytes.NewReader(body.Bytes()), int64(body.Len()))
		}
	}
	if err != nil {
		return nil, err
	}
	scan := pktline.NewScanner(res)
	scan.Scan()
	err = unreadableAnswer(scan.Err())
	var said *pktline.ErrorLine
	line := strings.TrimSpace(string(scan.Bytes()))
	switch {
	case errors.As(err, &said):
		err = declinedError(said.Text)
	case err == nil && line == "":
		err = fmt.Errorf("%w: its answer is empty", ErrUnavailable)
	case err == nil && line != "packfile":
		err = fmt.Errorf("%w: its answer begins with %q", ErrUnavailable, oneLine(line))
	}
	if err != nil {
		return nil, errors.Join(err, res.Close())
	}
	return packOf{sideband.NewDemuxer(sideband.Sideband64k, res), res}, nil
}

// packOf reads the pack out of a response.
type packOf struct {
	io.Reader
	io.Closer
}

// declinedError returns the error for a response without a pack.
func declinedError(line string) error {
	if _, id, ok := strings.Cut(line, "not our ref "); ok {
		return fmt.Errorf("%w: the remote does not have %q", objects.ErrNotFound, oneLine(id))
	}
	return fmt.Errorf("the remote said %q", oneLine(line))
}
