package main

import (
	"encoding/base64"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"example/webhooks"
)

func receive(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 8<<20))
	if err != nil {
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	cells := strings.Split(r.Header.Get("cells"), ",")
	text := func(index int) string {
		value, _ := base64.StdEncoding.DecodeString(cells[index])
		return string(value)
	}
	now, _ := strconv.ParseInt(text(5), 10, 64)
	fmt.Fprint(w,
		webhooks.VerifyService(body, text(1), text(0)), " ",
		webhooks.VerifyStandard(body, text(2), text(3), text(4), text(0), time.Unix(now, 0)),
	)
}

func main() {
	http.HandleFunc("/", receive)
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}
