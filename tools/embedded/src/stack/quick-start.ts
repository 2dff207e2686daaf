import { fileURLToPath } from 'node:url'
import { dataDirectory } from '../paths'
import type { Demo } from './demo-account'
import type { RegisteredEndpoint } from './demo-endpoint'
import type { Running } from './dev-file'
import type { ServicePlan } from './services'

const SHOWN = 5

/** The webhook endpoints of the demo account; the secrets of those that `--webhook-url` made. */
function endpointLines(endpoints: RegisteredEndpoint[], { webhooks }: Demo, data: string): string[] {
  const where = data === dataDirectory({}) ? '' : `LEADWIRE_DATA=${data} `
  if (endpoints.length === 0) return [`nowhere yet; in another terminal: ${where}npm run leadwire -- listen`]
  const more = endpoints.length - SHOWN
  return [
    ...endpoints.slice(0, SHOWN).map(({ id, url, enabled }) => {
      const secret = webhooks.find((kept) => kept.id === id)?.secret
      const notes = [!enabled && 'disabled', secret && `secret ${secret}`].filter(Boolean)
      return notes.length > 0 ? `${url}  (${notes.join(', ')})` : url
    }),
    ...(more > 0 ? [`and ${more} more`] : []),
  ]
}

/** Where messages to users go; a mail server's password is not shown. */
function mailLine(plans: ServicePlan[]): string {
  const url = new URL(plans.find(({ service }) => service === 'webhook-service')!.env['SMTP_URL']!)
  return url.protocol === 'file:'
    ? `${fileURLToPath(url)}  (an .eml file each)`
    : `${url.protocol}//${url.host}`
}

/** A label, and one line for each value. */
function section(label: string, [first = '', ...rest]: string[]): string[] {
  return [`  ${label.padEnd(12)}${first}`, ...rest.map((line) => `${' '.repeat(14)}${line}`)]
}

/** What somebody new needs to try it. */
export function quickStart(
  { base, demo, plans, endpoints }: Running & { endpoints: RegisteredEndpoint[] },
  data: string,
): string {
  const copies = plans.filter((plan) => plan.base !== null && plan.base !== base)
  const lead = {
    name: 'Kitchen windows',
    first_name: 'Ada',
    last_name: 'Byron',
    email: 'ada@example.com',
    phone: '020 7946 0000',
    postcode: 'SW1A 1AA',
    referrer: 'Website',
    status: 'open',
  }
  return [
    '',
    'Leadwire is ready.',
    '',
    ...section('API', [base, ...copies.map((copy) => `${copy.base}  (${copy.name})`)]),
    ...section('Docs', [`${base}/docs  (OpenAPI: ${base}/openapi.json)`]),
    ...section('Guides', [`${base}/docs/guides/first-lead`]),
    ...section('Console', [`${base}/console`]),
    ...section('Health', [`${base}/readyz`]),
    ...section('Token', [`${demo.token}  (for API, docs and console)`]),
    ...section('Webhooks to', endpointLines(endpoints, demo, data)),
    ...section('E-mails to', [mailLine(plans)]),
    ...section('Logs to', ['this terminal; with LOG_LEVEL=debug each request too']),
    ...section('For scripts', [`${data}/dev.json`]),
    '',
    'Create a lead:',
    '',
    `  curl ${base}/leads -H 'Authorization: Bearer ${demo.token}' -H 'Content-Type: application/json' \\`,
    `    -d '${JSON.stringify(lead)}'`,
    '',
    `Ctrl-C stops everything in order; the data stays in ${data}.`,
    '',
    '',
  ].join('\n')
}
