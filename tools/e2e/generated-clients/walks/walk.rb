# Creates, lists and retrieves a lead, attaches a file and downloads it, with Ruby's own library.
require 'json'
require 'net/http'
require 'stringio'

def send_request(request)
  request['Authorization'] = "Bearer #{ENV.fetch('TOKEN')}"
  response = Net::HTTP.start(request.uri.hostname, request.uri.port) { |http| http.request(request) }
  raise response.body unless response.is_a?(Net::HTTPOK)

  response.body
end

def address(path) = URI(ENV.fetch('BASE_URL') + path)
def get(path) = send_request(Net::HTTP::Get.new(address(path)))

create = Net::HTTP::Post.new(address('/leads'), 'Content-Type' => 'application/json')
create.body = File.read(File.join(__dir__, 'lead.json'))
reference = JSON.parse(send_request(create))['data']['reference']
page = JSON.parse(get('/leads'))
lead = JSON.parse(get("/leads/#{reference}"))['data']
path = "/leads/#{reference}/attachments"
attach = Net::HTTP::Post.new(address(path))
file = ['file', StringIO.new('notes'), { filename: '24" Grüße.txt' }]
attach.set_form([%w[name Notes], file], 'multipart/form-data')
attached = JSON.parse(send_request(attach))['data']
puts JSON.generate(
  listed: page['data'].map { |each| each['reference'] },
  email: lead['customer']['email'],
  file: get("#{path}/#{attached['id']}")
)
