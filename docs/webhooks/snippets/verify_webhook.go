package webhooks

import (
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"regexp"
	"strconv"
	"strings"
	"time"
)

var timestampForm = regexp.MustCompile(`^[0-9]{1,12}$`)

// VerifyStandard checks webhook-signature: pass the raw bytes and time.Now().
func VerifyStandard(body []byte, id, timestamp, signatures, secret string, now time.Time) bool {
	if secret == "" {
		panic("the webhook secret is missing")
	}
	if id == "" || !timestampForm.MatchString(timestamp) {
		return false
	}
	sent, _ := strconv.ParseInt(timestamp, 10, 64)
	if age := now.Unix() - sent; age > 300 || age < -300 {
		return false
	}
	mac := hmac.New(sha256.New, standardKey(secret))
	mac.Write([]byte(id + "." + timestamp + "."))
	mac.Write(body)
	right := []byte("v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	valid := false
	for _, signature := range strings.Split(signatures, " ") {
		valid = hmac.Equal([]byte(signature), right) || valid
	}
	return valid
}

// VerifyService checks X-SERVICE-Signature.
func VerifyService(body []byte, signature, secret string) bool {
	if secret == "" {
		panic("the webhook secret is missing")
	}
	mac := hmac.New(sha1.New, []byte(secret))
	mac.Write(body)
	return hmac.Equal([]byte(signature), []byte(hex.EncodeToString(mac.Sum(nil))))
}

func standardKey(secret string) []byte {
	encoded, hasPrefix := strings.CutPrefix(secret, "whsec_")
	key, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(encoded, "="))
	isPadded := base64.StdEncoding.EncodeToString(key) == encoded
	isUnpadded := base64.RawStdEncoding.EncodeToString(key) == encoded
	if hasPrefix && err == nil && len(key) > 0 && (isPadded || isUnpadded) {
		return key
	}
	return []byte(secret)
}
