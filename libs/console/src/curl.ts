import type { Schemas } from './api'

const quote = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`

// What the API leaves out, because it is made for each attempt. The secret stays with the reader.
const MADE: Record<string, string> = {
  'X-SERVICE-Signature': `$(printf %s "$BODY" | openssl dgst -sha1 -hmac "$WEBHOOK_SECRET" | sed 's/.* //')`,
  'webhook-timestamp': '$NOW',
  'webhook-signature': `v1,$(printf %s "$ID.$NOW.$BODY" | openssl dgst -sha256 -mac HMAC -macopt "hexkey:$KEY" -binary | base64)`,
}

/** A shell command that sends a request once more, signed with the secret in $WEBHOOK_SECRET. */
export const curlOf = ({ headers, body }: Schemas['WebhookRequest'], url: string): string => {
  const lines = Object.entries(headers).flatMap(([name, value]) => {
    if (value !== null) return [`-H ${quote(`${name}: ${value}`)}`]
    return MADE[name] ? [`-H "${name}: ${MADE[name]}"`] : []
  })
  return [
    `BODY=${quote(body)}`,
    `ID=${quote(headers['webhook-id'] ?? '')}`,
    'NOW=$(date +%s)',
    `KEY=$(printf %s "\${WEBHOOK_SECRET#whsec_}" | base64 -d | od -An -v -tx1 | tr -d ' \\n')`,
    [`curl -i ${quote(url)}`, ...lines, '--data-binary "$BODY"'].join(' \\\n  '),
  ].join('\n')
}
