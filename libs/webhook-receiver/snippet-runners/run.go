package main

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"example/webhooks"
)

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		cells := strings.Split(lines.Text(), "\t")
		values := make([][]byte, 6)
		for index := range values {
			values[index], _ = base64.StdEncoding.DecodeString(cells[index])
		}
		text := func(index int) string { return string(values[index]) }
		now, _ := strconv.ParseInt(cells[6], 10, 64)
		fmt.Println(
			webhooks.VerifyService(values[1], text(2), text(0)),
			webhooks.VerifyStandard(values[1], text(3), text(4), text(5), text(0), time.Unix(now, 0)),
		)
	}
}
