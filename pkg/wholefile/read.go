package wholefile

import (
	"fmt"
	"io"
	"os"
)

// Read returns the content of the file at path. It never waits for a writer, as a pipe
// would have it, and takes in no more than most bytes: the error says which of these the
// file is, or is that of package os.
func Read(path string, most int) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: want a regular file, it is %s", path, info.Mode().Type())
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, int64(most)+1))
	if err == nil && len(data) > most {
		return nil, fmt.Errorf("%s: longer than %d bytes", path, most)
	}
	return data, err
}
