// Creates, lists and retrieves a lead, attaches a file and downloads it, with Go's own library.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
)

type lead struct {
	Reference string
	Customer  struct{ Email string }
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func send(method, path, contentType string, body io.Reader) []byte {
	request, err := http.NewRequest(method, os.Getenv("BASE_URL")+path, body)
	check(err)
	request.Header.Set("Authorization", "Bearer "+os.Getenv("TOKEN"))
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	response, err := http.DefaultClient.Do(request)
	check(err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	check(err)
	if response.StatusCode != http.StatusOK {
		panic(string(text))
	}
	return text
}

func read[T any](text []byte) T {
	var response struct{ Data T }
	check(json.Unmarshal(text, &response))
	return response.Data
}

func main() {
	fields, err := os.ReadFile("walks/lead.json")
	check(err)
	reference := read[lead](send("POST", "/leads", "application/json", bytes.NewReader(fields))).Reference
	page := read[[]lead](send("GET", "/leads", "", nil))
	retrieved := read[lead](send("GET", "/leads/"+reference, "", nil))

	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	check(form.WriteField("name", "Notes"))
	part, err := form.CreateFormFile("file", `24" Grüße.txt`)
	check(err)
	_, err = io.WriteString(part, "notes")
	check(err)
	check(form.Close())
	attachments := "/leads/" + reference + "/attachments"
	attached := read[struct{ Id int }](send("POST", attachments, form.FormDataContentType(), &body))
	file := send("GET", fmt.Sprintf("%s/%d", attachments, attached.Id), "", nil)

	listed := []string{}
	for _, each := range page {
		listed = append(listed, each.Reference)
	}
	check(json.NewEncoder(os.Stdout).Encode(map[string]any{
		"listed": listed, "email": retrieved.Customer.Email, "file": string(file),
	}))
}
