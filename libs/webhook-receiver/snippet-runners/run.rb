require ARGV.shift

$stdin.each_line(chomp: true) do |line|
  *cells, now = line.split("\t", -1)
  secret, body, service, id, timestamp, standard = cells.map { |cell| cell.unpack1("m0") }
  service, id, timestamp, standard = [service, id, timestamp, standard].map { |value| value.empty? ? nil : value }
  secret = secret.force_encoding("UTF-8")
  puts [
    verify_service(body, service, secret),
    verify_standard(body, id, timestamp, standard, secret, now: now.to_i)
  ].join(" ")
end
