import { boundedStore, verifyStandard } from '@leadwire/webhook-receiver'
import express from 'express'

const { WEBHOOK_SECRET, PORT = '8000' } = process.env
// This store is for a single process. For several processes, write the id and the lead in one database
// transaction instead, with a unique key for the id.
const store = boundedStore()
const app = express()

// Keeps the raw bytes of the body, which express.json() would discard, for this route only. Allows 8 MB,
// because Express accepts only 100 KB by default.
const rawBody = express.raw({ type: () => true, limit: '8mb' })

app.post('/hooks/leads', rawBody, async (request, response) => {
  const result = verifyStandard(request.body ?? '', request.headers, WEBHOOK_SECRET)
  if (!result.ok) {
    console.error(`refused: ${result.code}: ${result.message}`)
    return response.status(401).send(result.code)
  }
  try {
    const outcome = await store.once(result.id, () => keep(result.payload.data))
    // An earlier attempt that is in progress may still fail. 409 makes Leadwire send the lead again.
    response.status(outcome === 'in_progress' ? 409 : 200).send(outcome)
  } catch (error) {
    console.error(error)
    response.status(500).send('not kept')
  }
})

async function keep(lead) {
  if (!lead?.reference) throw new Error('the body has no lead')
  console.log(`lead ${lead.reference}: ${lead.name}`)
}

const server = app.listen(Number(PORT), '127.0.0.1', () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}/hooks/leads`)
})
