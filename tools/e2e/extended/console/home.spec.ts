import { eventually } from '@leadwire/test-kit'
import { describeConsole, findParts } from '../../support/console'
import { createImports } from '../../support/imports'
import { joinStage, LEAD } from '../../support/stage'

const DAY_MS = 24 * 3_600_000

const day = (daysAgo: number) => new Date(Date.now() - daysAgo * DAY_MS).toISOString()

describeConsole('the home page of the console', joinStage, (world) => {
  const { heading, open } = world
  const { main, dialog, label, link, row, said, yes } = findParts(world)
  const tile = (name: string) =>
    main()
      .locator('.tile')
      .filter({ has: world.page.getByText(name, { exact: true }) })
  const item = (text: string) => main().getByRole('listitem').filter({ hasText: text })

  /** Imports leads that were created in the past, and waits until the figures count them. */
  const importLeads = async (leads: object[]) => {
    const lines = leads.map((lead) => `${JSON.stringify({ ...LEAD, ...lead })}\n`).join('')
    await createImports(world.tenant).run(lines, { type: 'application/x-ndjson' })
    await awaitFigures()
  }

  const awaitFigures = () =>
    eventually(async () => {
      const { json } = await world.tenant.client.request<{ is_current: boolean }>('GET', '/manage/figures')
      expect(json.is_current).toBe(true)
    })

  const schedule = (reference: string, kind: string, user_id: number, date: string) =>
    world.tenant.send<{ id: number }>('POST', `/leads/${reference}/${kind}`, {
      json: { user_id, date, notify: false },
    })

  test('an account without leads says that there is nothing to show or to compare with', async () => {
    await open()
    await heading('Home').waitFor()
    expect(await tile('New today').innerText()).toMatch(/0\s+As many as yesterday by/)
    expect(await tile('Share sold').innerText()).toMatch(/–\s+No leads in 30 days/)
    expect(await tile('Open').innerText()).toMatch(/All leads with the status Open/)
    await main().getByText('No leads were created in the last 30 days.').waitFor()
    await main().getByText('Nothing is due.').waitFor()
    await world.inspect('home-empty')
  })

  test('numbers have their change, and a share is never above 100 %', async () => {
    const { tenant } = world
    // The older lead is sold today, but only its own period counts it in the share.
    await importLeads([
      { created_at: day(45), referrer: 'Phone', status: 'open' },
      { created_at: day(3), referrer: 'Website', status: 'open' },
      { created_at: day(2), referrer: 'Website', status: 'sold', value: 4500 },
    ])
    const [{ reference }] = (await tenant.send<{ reference: string }[]>('GET', '/leads?sort=created_at')) as [
      { reference: string },
    ]
    await tenant.send('PATCH', `/leads/${reference}`, { json: { status: 'sold', value: 9000 } })
    await tenant.createLead({ referrer: 'Facebook' })
    await tenant.listen({ description: 'CRM' })
    await awaitFigures()

    await open()
    await heading('Home').waitFor()
    expect(await tile('New today').innerText()).toMatch(/1\s+\+1 on yesterday by/)
    expect(await tile('Open').innerText()).toMatch(/^Open\s+2\s/)
    expect(await tile('Sold today').innerText()).toMatch(/£9,000|£13,500/)
    expect(await tile('Sold today').innerText()).toContain('All of yesterday: 0')
    expect(await tile('Share sold').innerText()).toMatch(/33.3 %\s+Of the leads of 30 days, −67 points/)
    expect(await tile('Failing endpoints').innerText()).toMatch(/0 of 1/)
    await main().locator('.leads-chart rect').first().waitFor()
    expect(await main().locator('.leads-chart rect').count()).toBe(3)
    expect(await row('Website').innerText()).toMatch(/50 %/)
    await main().getByText('Show as table').click()
    await row('Day').getByText('Facebook').waitFor()
    await world.inspect('home')

    await link('90 days').click()
    await main().getByRole('heading', { name: 'Sources, last 90 days' }).waitFor()
    await row('Phone').first().waitFor()
    expect(world.page.url()).toMatch(/\/console\/home\?days=90$/)
    expect(await tile('Share sold').innerText()).toMatch(/50 %\s+Of the leads of 90 days; no leads before/)
  })

  test('my callbacks and appointments have overdue ones first, and are called, moved and done here', async () => {
    const { tenant } = world
    const { id } = await tenant.newUser('sales', { name: 'Grace Hopper' })
    const { id: other } = await tenant.newUser('sales', { name: 'Sam Bay' })
    const { reference } = await tenant.createLead({ name: 'Roof', mobile: '07700 900123' })
    await schedule(reference, 'appointments', id, '24/12/2090 14:30')
    const callback = await schedule(reference, 'callbacks', id, '01/02/2024 09:00')
    await schedule(reference, 'callbacks', other, '01/02/2024 10:00')

    await world.openAs(id)
    await heading('Home').waitFor()
    await main().getByRole('heading', { name: 'My callbacks and appointments' }).waitFor()
    const entries = main().locator('.agenda > li')
    expect(await entries.count()).toBe(2)
    expect(await entries.first().innerText()).toMatch(/1 Feb 2024, 09:00\s+Overdue\s+Callback · Roof/i)
    const call = entries.first().getByRole('link', { name: 'Call 07700 900123' })
    expect(await call.getAttribute('href')).toBe('tel:07700900123')
    await world.inspect('home-of-a-user')

    await entries.first().getByRole('button', { name: 'Done' }).click()
    await said('The callback with Ada Lovelace is done.').waitFor()
    await eventually(async () => expect(await entries.count()).toBe(1))
    const { json } = await tenant.client.request<{ data: object[] }>('GET', `/leads/${reference}/callbacks`)
    expect(json.data).toContainEqual(
      expect.objectContaining({ id: callback.id, done_at: expect.any(String) }),
    )

    expect(await tile('Due today').innerText()).toMatch(/Due today\s+0\s/)
    await item('Appointment').getByRole('button', { name: 'Move' }).click()
    await dialog().getByLabel('Date and time in the United Kingdom').fill('2091-01-02T10:15')
    await yes('Save')
    await said('The appointment with Ada Lovelace was moved.').waitFor()
    await item('2 Jan 2091, 10:15').waitFor()

    await tile('Due today').getByRole('link', { name: '1 overdue, including earlier days' }).click()
    await row('Roof').waitFor()
    expect(world.page.url()).toMatch(/\/console\/leads\?due=overdue$/)
  })

  test('a token sees the parts that its scopes allow', async () => {
    const reader = await world.tenant.newToken({ scopes: ['leads:read'] })
    await open('/home', reader.token)
    await tile('New today').waitFor()
    expect(await tile('Failing endpoints').count()).toBe(0)

    await world.newTab()
    const manager = await world.tenant.newToken({ scopes: ['manage:read'] })
    await open('/home', manager.token)
    await tile('Failing endpoints').waitFor()
    expect(await tile('New today').count()).toBe(0)
    expect(await label('Value in pounds').count()).toBe(0)
  })
})
