import { execFile } from 'node:child_process'
import { createHmac, randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import { fillDeliveries, openSql } from '@leadwire/fill'
import { type Answer, eventually } from '@leadwire/test-kit'
import { clickForText } from '../../support/chromium'
import { describeConsole, IMPATIENT } from '../../support/console'
import { joinStage } from '../../support/stage'

const start = () => joinStage({ env: IMPATIENT })

describeConsole('deliveries in the console', start, (world) => {
  const { heading, open } = world
  const button = (name: string) => world.page.getByRole('button', { name, exact: true })
  const attempt = (number: number) =>
    world.page.getByRole('listitem').filter({ hasText: `Attempt ${number} ` })
  const exhausted = (reference: string) =>
    eventually(async () => {
      const path = `/manage/deliveries?lead_reference=${reference}`
      const { json } = await world.tenant.client.request<{ data: { id: number; status: string }[] }>(
        'GET',
        path,
      )
      expect(json.data).toMatchObject([{ status: 'exhausted' }])
      return json.data[0]!.id
    })

  const fill = async (deliveries: Parameters<typeof fillDeliveries>[1]) => {
    const { databases, baseUrl } = world.stage.system
    const [leads, webhooks] = [openSql(databases.leads.url), openSql(databases.webhooks.url)]
    try {
      await fillDeliveries({ leads, webhooks, assetsUrl: `${baseUrl}/assets` }, deliveries)
    } finally {
      await Promise.all([leads.close(), webhooks.close()])
    }
  }

  test('a webhook can be copied as a curl command that the receiver accepts', async () => {
    // Removes the padding from the base64 of the secret: 16 bytes need only 22 of the 24 characters.
    const secret = `whsec_${randomBytes(16).toString('base64').slice(0, 22)}`
    const { receiver } = await world.tenant.listen({ secret })
    await world.tenant.createLead({ name: "Bay 'window' $HOME" })
    const { data } = await eventually(async () => {
      const path = '/manage/deliveries?status=delivered'
      const { json } = await world.tenant.client.request<{ data: { id: number }[] }>('GET', path)
      expect(json.data).toHaveLength(1)
      return json
    })
    await world.page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await open(`/deliveries/${data[0]!.id}`)
    await clickForText(world.page, button('Copy as curl'), 'Copied')
    const command = await world.page.evaluate<string>('navigator.clipboard.readText()')
    const shell = { env: { ...process.env, WEBHOOK_SECRET: secret }, timeout: 20_000 }
    const { stdout } = await promisify(execFile)('bash', ['-c', command], shell)
    expect(stdout).toMatch(/^HTTP\/1\.1 200/)
    const [first, second] = receiver.requests
    expect(second!.body.equals(first!.body)).toBe(true)
    const same = ['x-service-signature', 'x-service-account-key', 'webhook-id', 'user-agent']
    for (const name of same) expect([name, second!.headers[name]]).toEqual([name, first!.headers[name]])
    const { headers, body } = second!
    const signed = createHmac('sha256', Buffer.from(secret.replace('whsec_', ''), 'base64'))
      .update(`${headers['webhook-id']}.${headers['webhook-timestamp']}.`)
      .update(body)
    expect(headers['webhook-signature']).toBe(`v1,${signed.digest('base64')}`)
  })

  test('a redirect, a closed connection and an empty response are shown with their reasons', async () => {
    const { receiver } = await world.tenant.listen()
    const answers: Answer[] = [{ status: 500 }, { status: 302, headers: { location: '/x' } }]
    receiver.answerWith((_, index) => answers[index] ?? 'close')
    const id = await exhausted((await world.tenant.createLead()).reference)
    await open(`/deliveries/${id}`)
    await attempt(1).getByText('The response was empty.').waitFor()
    await attempt(2).getByText('302: redirects are not followed').waitFor()
    await attempt(3).getByText('No response.').waitFor()
    await attempt(3).getByText('The receiver closed the connection without a response').waitFor()
  })

  test('new, failed, paused and test deliveries look different, and no button is shown that can only fail', async () => {
    const { receiver, id } = await world.tenant.listen({ description: 'CRM' })
    const due = { from: Date.now() + 3_600_000, everyMs: 1 }
    await fill({ endpointId: id, count: 1, status: 'pending', due })
    await fill({ endpointId: id, count: 1, status: 'pending', due, failed: 2 })
    const { id: paused } = await world.tenant.listen({ description: 'Mailer', enabled: false })
    await world.tenant.send('POST', `/manage/webhook-endpoints/${paused}/test`)
    await open('/deliveries')
    const row = (text: string | RegExp) => world.page.getByRole('row').filter({ hasText: text })
    await row(/Paused \(held\).*Test/).waitFor()
    await row(/Failed, will retry next attempt in 59 minutes/).waitFor()
    await row(/#\d+New/).waitFor()
    await world.inspect('deliveries')

    await row('Paused (held)').getByRole('link', { name: '#' }).click()
    await heading(/^Delivery \d+ Paused \(held\) Test$/).waitFor()
    await world.page.getByText('Paused (held) until its endpoint is enabled.').waitFor()
    expect(await button('Retry now').count()).toBe(0)
    await world.inspect('paused-delivery')
    await world.page.goBack()
    await row('Failed, will retry').getByRole('link', { name: '#' }).click()
    await button('Retry now').click()
    await world.page
      .getByRole('status')
      .getByText(/^Attempt 3: 200 Success/)
      .waitFor()
    expect(receiver.requests).toHaveLength(1)
  })

  test('the address of the page has the filters, and an invalid filter shows the error at its field', async () => {
    const { id } = await world.tenant.listen({ description: 'CRM' })
    await world.tenant.listen({ description: 'Paused', enabled: false })
    const lead = await world.tenant.createLead()
    await world.tenant.createLead()
    const rows = (count: number) =>
      eventually(async () => expect(await world.page.getByRole('rowheader').count()).toBe(count))
    await open('/deliveries')
    await rows(4)
    // A new page moves the focus to its heading, which may happen after the page is shown.
    await world.page.locator('h1:focus').waitFor()
    await world.page.getByLabel('Status').focus()
    await world.page.getByLabel('Status').selectOption('Paused (held)')
    await rows(2)
    expect(world.page.url()).toMatch(/\/deliveries\?status=held$/)
    // A selected option applies at once, and the field keeps the focus.
    expect(await world.page.evaluate('document.activeElement.name')).toBe('status')
    await world.page.getByLabel('Status').selectOption('All')
    await world.page.getByLabel('Endpoint').selectOption('CRM')
    await world.page.getByLabel('Lead reference').fill(` ${lead.reference.slice(0, 8).toUpperCase()} `)
    await world.page.getByLabel('Lead reference').press('Enter')
    await rows(1)
    await world.page.reload()
    await rows(1)
    await world.page.getByText('Bay window').waitFor()
    expect(await world.page.getByLabel('Endpoint').inputValue()).toBe(String(id))
    await world.page.getByText('More filters').click()
    await world.page.getByLabel('Created before').fill('2020-01-01T00:00')
    await world.page.getByLabel('Last attempt').selectOption('Succeeded, or not made yet')
    await world.page.getByText('No delivery matches.').waitFor()
    expect(world.page.url()).toContain('failed=false&to=2020-01-01T00%3A00%3A00.000Z')
    await world.inspect('filters')
    await button('Clear').click()
    await rows(4)
    expect(await world.page.getByLabel('Lead reference').inputValue()).toBe('')

    world.expected = [/422/]
    await world.page.getByLabel('Lead reference').fill('no reference')
    await world.page.getByLabel('Lead reference').press('Enter')
    await world.page.locator('#lead_reference-error').waitFor()
    expect(await world.page.getByLabel('Lead reference').inputValue()).toBe('no reference')
    await heading('Deliveries').waitFor()
  })

  test('deliveries are read page by page with a cursor', async () => {
    const { id } = await world.tenant.listen()
    await fill({ endpointId: id, count: 120, status: 'delivered' })
    await open('/deliveries')
    const pages = world.page.getByRole('navigation', { name: 'Pages' })
    const first = await world.page.getByRole('rowheader').first().innerText()
    expect(await world.page.getByRole('rowheader').count()).toBe(100)
    await pages.getByRole('link', { name: 'Older' }).click()
    await eventually(async () => expect(await world.page.getByRole('rowheader').count()).toBe(20))
    expect(await pages.getByRole('link', { name: 'Older' }).count()).toBe(0)
    await pages.getByRole('link', { name: 'Newest' }).click()
    await eventually(async () =>
      expect(await world.page.getByRole('rowheader').first().innerText()).toBe(first),
    )
  })
})
