// The walk of the README in Node: create, list, retrieve, attach, download. No dependencies.
import { existsSync, readFileSync } from 'node:fs'

// A line in place of a stack.
process.on('uncaughtException', ({ message, cause }) => {
  console.error(cause ? `${message}: ${cause.message}` : message)
  process.exit(1)
})

const file = `${process.env.LEADWIRE_DATA || '.data'}/dev.json`
if (!existsSync(file)) throw new Error(`No running stack was found: ${file} is missing. Run npm start first.`)
const dev = JSON.parse(readFileSync(file, 'utf8'))

const call = async (path, { method = 'GET', json, form } = {}) => {
  const response = await fetch(`${dev.base_url}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${dev.token}`,
      ...(json && { 'content-type': 'application/json' }),
    },
    body: json ? JSON.stringify(json) : form,
  })
  const body = await response.json()
  if (!response.ok) throw new Error(`${body.title}: ${JSON.stringify(body.errors ?? body.detail)}`)
  return body
}

const { data: lead } = await call('/leads', {
  method: 'POST',
  json: {
    name: 'Kitchen windows',
    first_name: 'Ada',
    last_name: 'Byron',
    email: 'ada@example.com',
    phone: '020 7946 0000',
    postcode: 'SW1A 1AA',
    referrer: 'Website',
    status: 'open',
  },
})
console.log(`created ${lead.reference}`)

const page = await call('/leads')
console.log(`listed ${page.data.length} of ${page.total}`)

const { data: retrieved } = await call(`/leads/${lead.reference}`)
console.log(`retrieved ${retrieved.name} for ${retrieved.customer.name}`)

const form = new FormData()
form.set('name', 'Survey')
form.set('file', new Blob(['Three windows, one door.\n'], { type: 'text/plain' }), 'survey.txt')
const { data: attachment } = await call(`/leads/${lead.reference}/attachments`, { method: 'POST', form })
console.log(`attached ${attachment.file_name}, ${attachment.file_size} bytes`)

const download = await fetch(attachment.url, { headers: { authorization: `Bearer ${dev.token}` } })
if (!download.ok) throw new Error(await download.text())
console.log(`downloaded: ${(await download.text()).trim()}`)
