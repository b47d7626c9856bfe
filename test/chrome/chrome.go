package chrome

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/chromedp"
)

// Start runs a Chromium until the test ends, at most for three minutes, and waits until
// it is gone. The context is that of its first tab.
func Start(t *testing.T, options ...chromedp.ExecAllocatorOption) context.Context {
	t.Helper()
	all := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program(t)), chromedp.UserDataDir(t.TempDir()))
	if os.Geteuid() == 0 {
		all = append(all, chromedp.NoSandbox)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	t.Cleanup(cancel)
	ctx, endProcess := chromedp.NewExecAllocator(ctx, append(all, options...)...)
	t.Cleanup(endProcess)
	ctx, endBrowser := chromedp.NewContext(ctx)
	t.Cleanup(endBrowser)
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			t.Errorf("end Chromium: %v", err)
		}
	})
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("start Chromium: %v", err)
	}
	return ctx
}

// Call is a command of the DevTools protocol whose result nobody needs.
func Call[P, R any](command cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, command, params)
		return err
	})
}

func program(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium-headless-shell", "chromium", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal("no Chromium is installed (run: make chromium)")
	return ""
}
