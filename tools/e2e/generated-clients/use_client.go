// Creates, lists and retrieves a lead, attaches a file and downloads it, with the client of openapi-generator.
package main

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"

	leadwire "leadwire.test/leadwire/client"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	configuration := leadwire.NewConfiguration()
	configuration.Servers = leadwire.ServerConfigurations{{URL: os.Getenv("BASE_URL")}}
	client := leadwire.NewAPIClient(configuration)
	ctx := context.WithValue(context.Background(), leadwire.ContextAccessToken, os.Getenv("TOKEN"))

	request := leadwire.NewCreateLeadRequest(
		"Bay window", "Ada", "Lovelace", "ada@example.com", "020 7946 0123", "SW1A 1AA", "Website", "open")
	created, _, err := client.LeadsAPI.CreateLead(ctx).CreateLeadRequest(*request).Execute()
	check(err)
	reference := created.Data.Reference
	page, _, err := client.LeadsAPI.ListLeads(ctx).Execute()
	check(err)
	lead, _, err := client.LeadsAPI.RetrieveLead(ctx, reference).Execute()
	check(err)

	folder, err := os.MkdirTemp("", "leadwire")
	check(err)
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "notes.txt")
	check(os.WriteFile(path, []byte("notes"), 0o600))
	notes, err := os.Open(path)
	check(err)
	attached, _, err := client.AttachmentsAPI.AttachFile(ctx, reference).Name("Notes").File(notes).Execute()
	check(err)
	file, _, err := client.AttachmentsAPI.DownloadAttachment(ctx, reference, attached.Data.Id).Execute()
	check(err)
	text, err := io.ReadAll(file)
	check(err)
	check(os.Remove(file.Name()))

	listed := []string{}
	for _, each := range page.Data {
		listed = append(listed, each.Reference)
	}
	check(json.NewEncoder(os.Stdout).Encode(map[string]any{
		"listed": listed, "email": lead.Data.Customer.Email, "file": string(text),
	}))
}
