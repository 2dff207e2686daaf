require "openssl"

# Checks webhook-signature. `body` is request.body.read (Rails: raw_post).
def verify_standard(body, id, timestamp, signatures, secret, now: Time.now.to_i)
  raise ArgumentError, "the webhook secret is missing" if secret.to_s.empty?
  return false if id.to_s.empty? || signatures.to_s.empty? || !timestamp.to_s.match?(/\A[0-9]{1,12}\z/)
  return false if (now - timestamp.to_i).abs > 300

  content = "#{id}.#{timestamp}.".b + body.b
  digest = OpenSSL::HMAC.digest("SHA256", standard_key(secret), content)
  right = "v1,#{[digest].pack("m0")}"
  signatures.split(" ").map { |signature| equal_in_constant_time?(signature, right) }.any?
end

# Checks X-SERVICE-Signature.
def verify_service(body, signature, secret)
  raise ArgumentError, "the webhook secret is missing" if secret.to_s.empty?
  equal_in_constant_time?(signature, OpenSSL::HMAC.hexdigest("SHA1", secret, body))
end

def standard_key(secret)
  encoded = secret.start_with?("whsec_") ? secret[6..] : ""
  key = encoded.ljust((encoded.length + 3) / 4 * 4, "=").unpack1("m0")
  padded = [key].pack("m0")
  is_base64 = !key.empty? && [padded, padded.delete("=")].include?(encoded)
  is_base64 ? key : secret
rescue ArgumentError
  secret
end

def equal_in_constant_time?(given, right)
  given = given.to_s.b
  given.bytesize == right.bytesize && OpenSSL.fixed_length_secure_compare(given, right)
end
