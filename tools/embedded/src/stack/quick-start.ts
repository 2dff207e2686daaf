import { fileURLToPath } from 'node:url'
import { dataDirectory } from '../paths'
import type { Demo } from './demo-account'
import type { RegisteredEndpoint } from './demo-endpoint'
import type { Running } from './dev-file'
import type { ServicePlan } from './services'

const SHOWN = 5

/**
 * Renders the webhook endpoints of the demo account. Endpoints from `--webhook-url` are shown with secrets.
 */
function renderEndpoints(endpoints: RegisteredEndpoint[], { webhooks }: Demo, data: string): string[] {
  const where = data === dataDirectory({}) ? '' : `LEADWIRE_DATA=${data} `
  if (endpoints.length === 0)
    return [`no endpoint yet; to see events, run in another terminal: ${where}npm run leadwire -- listen`]
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

/** Renders the destination of e-mails, without the password of a mail server. */
function renderMail(plans: ServicePlan[]): string {
  const url = new URL(plans.find(({ service }) => service === 'webhook-service')!.env['SMTP_URL']!)
  return url.protocol === 'file:'
    ? `${fileURLToPath(url)}  (one .eml file each)`
    : `${url.protocol}//${url.host}`
}

/** Renders the address of the console, and the link that signs in. */
function renderConsole(base: string, signInUrl: string | undefined): string[] {
  if (signInUrl === undefined) return [`${base}/console`]
  return [signInUrl, `signs you in as the demo admin, once; with the token below, open ${base}/console`]
}

/** Renders a label with one line for each value. */
function renderSection(label: string, [first = '', ...rest]: string[]): string[] {
  return [`  ${label.padEnd(12)}${first}`, ...rest.map((line) => `${' '.repeat(14)}${line}`)]
}

/** Renders the quick start, which a new user needs to try the stack. */
export function renderQuickStart(
  { base, publicUrl, demo, signInUrl, plans, endpoints }: Running & { endpoints: RegisteredEndpoint[] },
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
    ...renderSection('API', [base, ...copies.map((copy) => `${copy.base}  (${copy.name})`)]),
    ...renderSection('Public URL', [`${publicUrl}  (in events and links; set PUBLIC_URL to change it)`]),
    ...renderSection('Docs', [`${base}/docs  (OpenAPI: ${base}/openapi.json)`]),
    ...renderSection('Guides', [`${base}/docs/guides/first-lead`]),
    ...renderSection('Console', renderConsole(base, signInUrl)),
    ...renderSection('Health', [`${base}/readyz`]),
    ...renderSection('Token', [`${demo.token}  (for API, docs and console)`]),
    ...renderSection('Webhooks to', renderEndpoints(endpoints, demo, data)),
    ...renderSection('E-mails to', [renderMail(plans)]),
    ...renderSection('Logs to', ['this terminal (LOG_LEVEL=debug adds each request)']),
    ...renderSection('For scripts', [`${data}/dev.json`]),
    '',
    'Create a lead:',
    '',
    `  curl ${base}/leads -H 'Authorization: Bearer ${demo.token}' -H 'Content-Type: application/json' \\`,
    `    -d '${JSON.stringify(lead)}'`,
    '',
    `Ctrl-C stops everything. The data stays in ${data}.`,
    '',
    '',
  ].join('\n')
}
