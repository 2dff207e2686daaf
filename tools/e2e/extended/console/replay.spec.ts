import { eventually } from '@leadwire/test-kit'
import { describeConsole } from '../../support/console'
import { joinStage } from '../../support/stage'

describeConsole('a replay in the console', joinStage, (world) => {
  const { heading, open } = world
  const button = (name: string) => world.page.getByRole('button', { name, exact: true })
  const link = (name: string) => world.page.getByRole('link', { name, exact: true })
  const said = (text: string | RegExp) => world.page.getByRole('status').getByText(text)

  /** Creates leads in groups, because the gateway refuses a request that has waited for three seconds. */
  const withLeads = async (groups: number, leads: number) => {
    for (let group = 0; group < groups; group += 1)
      await Promise.all(Array.from({ length: leads }, () => world.tenant.createLead()))
    // Waits for the last event, because the new endpoint would get a later event without a replay.
    await eventually(async () => {
      const { json } = await world.tenant.client.request<{ data: unknown[] }>(
        'GET',
        `/manage/events?from_sequence=${groups * leads}`,
      )
      expect(json.data).toHaveLength(1)
    })
    return world.tenant.listen({ description: 'CRM' })
  }

  test('is counted first, and then sent to a new endpoint', async () => {
    world.expected = [/422/]
    const { receiver, id } = await withLeads(1, 3)
    await open(`/endpoints/${id}`)
    await link('Replay events').click()
    await heading('Replay to CRM').waitFor()
    await world.page.getByLabel('After the sequence number').fill('5')
    await world.page.getByLabel('Up to the sequence number').fill('2')
    await button('Count').click()
    await world.page
      .getByRole('alert')
      .getByText(/greater than the after sequence/)
      .waitFor()
    await world.page.getByLabel('After the sequence number').fill('1')
    await world.page.getByLabel('Up to the sequence number').fill('')
    await button('Count').click()
    await said('2 events match.').waitFor()
    await world.inspect('replay')
    expect(receiver.requests).toEqual([])
    await button('Replay 2 events').click()
    await said('2 of 2 events enqueued.').waitFor()
    await world.page.getByText('Done').waitFor()
    await eventually(() => expect(receiver.requests).toHaveLength(2))
    await world.page.reload()
    await said('2 of 2 events enqueued.').waitFor()
    await link('Another replay').click()
    await button('Count').click()
    await said('1 event matches.').waitFor()
  })

  test('is shown while it runs, and can be cancelled', async () => {
    // Creates 200 events, more than a replay enqueues while the receiver does not respond. So the replay
    // keeps running.
    const { id, receiver } = await withLeads(4, 50)
    receiver.answerWith('hang')
    await open(`/endpoints/${id}/replay`)
    await button('Count').click()
    await button('Replay 200 events').click()
    await said(/ 1\d\d of 200 events enqueued/).waitFor()
    await world.inspect('running-replay')
    await button('Cancel replay').click()
    await world.page.getByRole('dialog').getByRole('button', { name: 'Cancel replay' }).click()
    await said('Cancelled.').waitFor()
    await world.page.getByText('Cancelled', { exact: true }).waitFor()
  })
})
