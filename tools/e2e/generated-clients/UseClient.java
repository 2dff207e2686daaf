// Creates, lists and retrieves a lead, attaches a file and downloads it, with the client of openapi-generator.
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.openapitools.client.ApiClient;
import org.openapitools.client.api.AttachmentsApi;
import org.openapitools.client.api.LeadsApi;
import org.openapitools.client.model.CreateLeadRequest;

class UseClient {
    public static void main(String[] arguments) throws Exception {
        ApiClient client = new ApiClient();
        client.updateBaseUri(System.getenv("BASE_URL"));
        client.setRequestInterceptor(
            request -> request.header("Authorization", "Bearer " + System.getenv("TOKEN")));
        LeadsApi leads = new LeadsApi(client);
        AttachmentsApi attachments = new AttachmentsApi(client);

        CreateLeadRequest request = new CreateLeadRequest()
            .name("Bay window")
            .firstName("Ada")
            .lastName("Lovelace")
            .email("ada@example.com")
            .phone("020 7946 0123")
            .postcode("SW1A 1AA")
            .referrer(CreateLeadRequest.ReferrerEnum.WEBSITE)
            .status(CreateLeadRequest.StatusEnum.OPEN);
        var reference = leads.createLead(request, null).getData().getReference();
        var page = leads.listLeads(
            null, null, null, null, null, null, null, null, null, null, null, null, null, null, null);
        var lead = leads.retrieveLead(reference, null).getData();
        Path notes = Files.createTempFile("notes", ".txt");
        Files.writeString(notes, "notes");
        var attached = attachments.attachFile(reference, "Notes", notes.toFile(), null).getData();
        Files.delete(notes);
        Path file = attachments.downloadAttachment(reference, attached.getId()).toPath();

        List<String> listed = page.getData().stream().map(each -> each.getReference().toString()).toList();
        Map<String, Object> report =
            Map.of("listed", listed, "email", lead.getCustomer().getEmail(), "file", Files.readString(file));
        Files.delete(file);
        System.out.print(ApiClient.createDefaultObjectMapper().writeValueAsString(report));
    }
}
