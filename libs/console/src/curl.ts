import type { Schemas } from './api'

const quote = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`

// Shell code for the headers whose values the API omits, because each attempt computes them. The user sets
// the secret in $WEBHOOK_SECRET.
const COMPUTED: Record<string, string> = {
  'X-SERVICE-Signature': `$(printf %s "$BODY" | openssl dgst -sha1 -hmac "$WEBHOOK_SECRET" | sed 's/.* //')`,
  'webhook-timestamp': '$NOW',
  'webhook-signature': `v1,$(printf %s "$ID.$NOW.$BODY" | openssl dgst -sha256 -mac HMAC -macopt "hexkey:$KEY" -binary | base64)`,
}

// `base64 -d` requires padding, but the secret may have none. The loop adds the missing padding.
const DECODE_SECRET = [
  `ENCODED=\${WEBHOOK_SECRET#whsec_}`,
  `while [ $((\${#ENCODED} % 4)) -ne 0 ]; do ENCODED="$ENCODED="; done`,
  `KEY=$(printf %s "$ENCODED" | base64 -d | od -An -v -tx1 | tr -d ' \\n')`,
]

/** Returns shell commands that send a request again, signed with the secret in $WEBHOOK_SECRET. */
export const renderCurl = ({ headers, body }: Schemas['WebhookRequest'], url: string): string => {
  const lines = Object.entries(headers).flatMap(([name, value]) => {
    if (value !== null) return [`-H ${quote(`${name}: ${value}`)}`]
    return COMPUTED[name] ? [`-H "${name}: ${COMPUTED[name]}"`] : []
  })
  return [
    `BODY=${quote(body)}`,
    `ID=${quote(headers['webhook-id'] ?? '')}`,
    'NOW=$(date +%s)',
    ...DECODE_SECRET,
    [`curl -i ${quote(url)}`, ...lines, '--data-binary "$BODY"'].join(' \\\n  '),
  ].join('\n')
}
