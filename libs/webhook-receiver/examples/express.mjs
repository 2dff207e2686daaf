import { boundedStore, verifyStandard } from '@leadwire/webhook-receiver'
import express from 'express'

const { WEBHOOK_SECRET, PORT = '8000' } = process.env
// More than one process behind the address? Then this store belongs into a database that they share.
const store = boundedStore()
const app = express()

// The raw bytes, for this route only: express.json() would throw them away. The default limit is 100 KB.
const rawBody = express.raw({ type: () => true, limit: '8mb' })

app.post('/hooks/leads', rawBody, async (request, response) => {
  const result = await verifyStandard(request.body ?? '', request.headers, WEBHOOK_SECRET, { store })
  if (!result.ok && result.code === 'duplicate') return response.status(200).send('known already')
  if (!result.ok) {
    console.error(`refused: ${result.code}: ${result.message}`)
    return response.status(401).send(result.code)
  }
  try {
    await keep(result.payload.data)
  } catch (error) {
    // It shall come again: forget it before anything but a 2xx goes out.
    store.forget(result.id)
    console.error(error)
    return response.status(500).send('not kept')
  }
  response.status(204).end()
})

async function keep(lead) {
  if (!lead?.reference) throw new Error('there is no lead in it')
  console.log(`lead ${lead.reference}: ${lead.name}`)
}

const server = app.listen(Number(PORT), '127.0.0.1', () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}/hooks/leads`)
})
