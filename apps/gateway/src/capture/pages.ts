import { labelField } from '@leadwire/requests'
import type { FieldErrors } from '@leadwire/service-kit'

export const PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy':
    "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
}

const escaped = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => `&#${character.codePointAt(0)};`)

const page = (title: string, content: string): string => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escaped(title)}</title>
<h1>${escaped(title)}</h1>
${content}
</html>
`

export const receivedPage = (): string => page('Thank you', '<p>We have received your enquiry.</p>')

/**
 * Adds the label of the field to a message that does not contain the label, such as a message about a file.
 */
const nameField = (label: string, message: string): string =>
  message.includes(label) ? message : `${label}: ${message}`

/** Returns the page for a person whose form was refused. */
export const refusedPage = ({ detail, errors = {} }: { detail: string; errors?: FieldErrors }): string => {
  const messages = Object.entries(errors).flatMap(([field, texts]) =>
    texts.map((message) => nameField(labelField(field), message)),
  )
  const items = messages.map((message) => `<li>${escaped(message)}</li>`).join('')
  return page(
    'Your form was not accepted',
    `${items ? `<ul>${items}</ul>` : `<p>${escaped(detail)}</p>`}<p>Go back and try again.</p>`,
  )
}
