import type { Demo } from './demo-account'
import type { Running } from './dev-file'

function endpoint({ webhooks }: Demo): string {
  const last = webhooks.at(-1)
  return last ? `${last.url}  (secret ${last.secret})` : 'none; npm start -- --webhook-url URL'
}

/** What somebody new needs to try it. */
export function quickStart({ base, demo, plans }: Running, data: string): string {
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
    `  Interface   ${base}  (described at ${base}/docs)`,
    ...copies.map((copy) => `              ${copy.base}  (${copy.name})`),
    `  Token       ${demo.token}`,
    `  Webhooks    ${endpoint(demo)}`,
    `  For scripts ${data}/dev.json`,
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
