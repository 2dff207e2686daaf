import { boundedStore, verifyStandard } from '@leadwire/webhook-receiver'
import express from 'express'

const { WEBHOOK_SECRET, PORT = '8000' } = process.env
// More than one process behind the address? Then write the id with the lead, in one transaction, under a unique key.
const store = boundedStore()
const app = express()

// The raw bytes, for this route only: express.json() would throw them away. The default limit is 100 KB.
const rawBody = express.raw({ type: () => true, limit: '8mb' })

app.post('/hooks/leads', rawBody, async (request, response) => {
  const result = verifyStandard(request.body ?? '', request.headers, WEBHOOK_SECRET)
  if (!result.ok) {
    console.error(`refused: ${result.code}: ${result.message}`)
    return response.status(401).send(result.code)
  }
  try {
    const outcome = await store.once(result.id, () => keep(result.payload.data))
    // While an earlier attempt is in progress the lead may still be lost: only a failure brings it again.
    response.status(outcome === 'in_progress' ? 409 : 200).send(outcome)
  } catch (error) {
    console.error(error)
    response.status(500).send('not kept')
  }
})

async function keep(lead) {
  if (!lead?.reference) throw new Error('there is no lead in it')
  console.log(`lead ${lead.reference}: ${lead.name}`)
}

const server = app.listen(Number(PORT), '127.0.0.1', () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}/hooks/leads`)
})
