import { eventually } from '@leadwire/test-kit'
import { describeConsole, findParts } from '../../support/console'
import { joinStage } from '../../support/stage'

const DAY_MS = 86_400_000
const UK_MINUTE = new Intl.DateTimeFormat('en-GB', {
  dateStyle: 'short',
  timeStyle: 'short',
  timeZone: 'Europe/London',
})

describeConsole('leads as a work queue in the console', joinStage, (world) => {
  const { open, openAs } = world
  const { main, dialog, button, link, label, row, said, yes } = findParts(world)
  const press = (key: string) => world.page.keyboard.press(key)
  const readSearch = () => new URL(world.page.url()).search
  const newUser = (role: string, name: string) => world.tenant.newUser(role, { name })
  const get = <T = Record<string, unknown>>(path: string) => world.tenant.send<T>('GET', path)
  /** Schedules a callback for yesterday. */
  const missCallback = (reference: string, userId: number) => {
    const date = UK_MINUTE.format(Date.now() - DAY_MS).replace(',', '')
    const json = { notify: false, user_id: userId, date }
    return world.tenant.send('POST', `/leads/${reference}/callbacks`, { json })
  }
  const pick = (name: string) => main().getByRole('checkbox', { name: `Select ${name}`, exact: true })
  const tab = (name: string) =>
    world.page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name, exact: true })

  test('the table shows whom to call and when, and a filter is removed as a chip', async () => {
    const sam = await newUser('sales', 'Sam Bay')
    const { reference } = await world.tenant.createLead({ name: 'Loft blinds', user_id: sam.id })
    await world.tenant.send('PATCH', `/leads/${reference}`, { json: { value: 4500 } })
    const grace = { name: 'Loft blinds', first_name: 'Grace', last_name: 'Hopper' }
    const { reference: other } = await world.tenant.createLead(grace)
    await missCallback(reference, sam.id)
    await open('/leads')
    const ada = row('Ada Lovelace')
    await ada.getByText('Overdue').waitFor()
    expect(await ada.innerText()).toMatch(/Ada Lovelace.*Loft blinds.*020 7946 0123.*Sam Bay.*Open.*£4,500/s)
    expect(await ada.getByRole('link', { name: '020 7946 0123' }).getAttribute('href')).toBe(
      'tel:02079460123',
    )
    expect(await row('Grace Hopper').innerText()).toMatch(/Unassigned/)
    await world.inspect('queue')
    await label('Due').selectOption('Overdue')
    await row('Grace Hopper').waitFor({ state: 'detached' })
    await link('Remove the filter Due: Overdue').click()
    await row('Grace Hopper').waitFor()
    await tab('Unassigned').click()
    await row('Ada Lovelace').waitFor({ state: 'detached' })
    await link('Remove the filter Owner: Unassigned').waitFor()
    // Clicks beside all texts of the row.
    const beside = { position: { x: 4, y: 4 }, force: true }
    await row('Grace Hopper').getByRole('cell').nth(4).click(beside)
    await world.page.waitForURL(`**/leads/${other}`)
  })

  test('a view is saved, replaced and deleted by the person who made it', async () => {
    const sam = await newUser('sales', 'Sam Bay')
    await world.tenant.createLead({ name: 'Door', status: 'sold', user_id: sam.id })
    await world.tenant.createLead({ name: 'Roof' })
    await openAs(sam.id, '/leads')
    await row('Roof').waitFor()
    await tab('Mine').click()
    await row('Roof').waitFor({ state: 'detached' })
    await row('Door').waitFor()
    await label('Status').selectOption('Sold')
    await button('Save view').click()
    await dialog().getByLabel('Name', { exact: true }).fill('Won')
    await world.inspect('save-view')
    await yes('Save')
    await said('The view Won was saved.').waitFor()
    expect(await tab('Won').getAttribute('aria-current')).toBe('page')
    await world.inspect('queue-with-a-view')
    await tab('All').click()
    await row('Roof').waitFor()
    await tab('Won').click()
    await row('Roof').waitFor({ state: 'detached' })
    await label('Owner').selectOption('All')
    await button('Save view').click()
    expect(await dialog().getByLabel('Name', { exact: true }).inputValue()).toBe('Won')
    await yes('Save')
    await button('Delete view').waitFor()
    const cookie = await world.tenant.signIn(sam.id)
    const session = { token: '', headers: { cookie, 'sec-fetch-site': 'same-origin' } }
    const list = () => world.tenant.send<object[]>('GET', '/manage/views', session)
    expect(await list()).toMatchObject([{ name: 'Won', filters: { status: 'sold' } }])
    await button('Delete view').click()
    await yes('Delete')
    await tab('Won').waitFor({ state: 'detached' })
    expect(await list()).toEqual([])
  })

  test('the list is shown when views cannot be loaded', async () => {
    world.expected = [/500/]
    const sam = await newUser('viewer', 'Sam Bay')
    await world.tenant.createLead()
    await world.page.route('**/manage/views', (route) => route.fulfill({ status: 500, body: '{}' }))
    await openAs(sam.id, '/leads')
    await row('Bay window').waitFor()
    await main().getByText("Your saved views can't be shown").waitFor()
    await tab('Unassigned').waitFor()
    await world.page.unroute('**/manage/views')
    await label('Status').selectOption('Open')
    await button('Save view').waitFor()
  })

  test('selected leads get a status and an owner, and a lead that cannot be changed stays selected', async () => {
    const sam = await newUser('sales', 'Sam Bay')
    const leads: { reference: string }[] = []
    for (const name of ['Door', 'Roof', 'Porch']) leads.push(await world.tenant.createLead({ name }))
    await open('/leads')
    await row('Porch').waitFor()
    await main().getByRole('checkbox', { name: 'Select all leads of this page' }).check()
    await main().getByText('3 leads selected').waitFor()
    await world.page.setViewportSize({ width: 1280, height: 300 })
    await pick('Ada Lovelace, Door').scrollIntoViewIfNeeded()
    await world.page.evaluate('scrollTo(0, document.body.scrollHeight)')
    const bar = await main().getByRole('region', { name: 'Change the selected leads' }).boundingBox()
    expect(bar!.y).toBeGreaterThanOrEqual(0)
    await world.page.setViewportSize({ width: 1280, height: 800 })
    await pick('Ada Lovelace, Porch').uncheck()
    await main().getByText('2 leads selected').waitFor()
    await world.inspect('queue-with-a-selection')
    const door = leads[0]!.reference
    await world.tenant.send('POST', `/manage/leads/${door}/erase`)
    await label('New status').selectOption('Lost')
    await label('New owner').selectOption('Sam Bay')
    await button('Apply').click()
    await said('1 lead changed.').waitFor()
    await main().getByRole('alert').getByText('Ada Lovelace, Door: ').waitFor()
    await main().getByText('1 lead selected').waitFor()
    await world.inspect('queue-with-a-failure')
    expect(await row('Roof').innerText()).toMatch(/Sam Bay.*Lost/s)
    expect(await get(`/manage/leads?user_id=${sam.id}`)).toMatchObject([{ name: 'Roof', status: 'lost' }])
    await button('Dismiss').click()
    await button('Clear selection').click()
    await button('Apply').waitFor({ state: 'detached' })
    await row('Erased lead').waitFor()
    await main().getByRole('checkbox', { name: 'Select all leads of this page' }).check()
    await main().getByText('2 leads selected').waitFor()
  })

  test('J and K move, X selects and Enter opens, but not while the user types, and Back returns to the place', async () => {
    const references: string[] = []
    for (let index = 0; index <= 40; index++)
      references.push((await world.tenant.createLead({ name: `Lead ${index}.` })).reference)
    await open('/leads?status=open')
    await row('Lead 40.').waitFor()
    await label('Name, e-mail, phone or postcode').pressSequentially('jx')
    expect(await label('Name, e-mail, phone or postcode').inputValue()).toBe('jx')
    await button('Clear').click()
    await tab('All').waitFor()
    await label('Status').selectOption('Open')
    await link('Next').click()
    await row('Lead 20.').waitFor()
    for (let index = 0; index < 19; index++) await press('j')
    await press('k')
    await press('x')
    await main().getByText('1 lead selected').waitFor()
    expect(await pick('Ada Lovelace, Lead 3.').isChecked()).toBe(true)
    await press('x')
    await main().getByText('1 lead selected').waitFor({ state: 'detached' })
    await press('j')
    await eventually(async () => expect(await world.page.evaluate('scrollY')).toBeGreaterThan(100))
    const top = await world.page.evaluate('scrollY')
    await press('Enter')
    await world.page.waitForURL(`**/leads/${references[2]}`)
    await world.page.goBack()
    await row('Lead 20.').waitFor()
    expect(readSearch()).toBe('?status=open&page=2')
    await eventually(async () => expect(await world.page.evaluate('scrollY')).toBe(top))
    // The row of the lead has the focus again.
    await press('k')
    await press('Enter')
    await world.page.waitForURL(`**/leads/${references[3]}`)
  })

  test('cards of the board are moved with a select or by dragging', async () => {
    const { reference } = await world.tenant.createLead({ name: 'Door' })
    for (let index = 1; index <= 11; index++)
      await world.tenant.createLead({ name: `Lead ${index}.`, status: 'sold' })
    await open('/leads')
    await row('Lead 11.').waitFor()
    await link('Board').click()
    const column = (name: string) => main().getByRole('region', { name })
    await column('Sold').getByText('10+').waitFor()
    expect(await column('Sold').getByRole('listitem').count()).toBe(10)
    await world.inspect('board')
    await column('Open').getByLabel('Status of Ada Lovelace, Door').selectOption('Lost')
    await said('Moved to Lost.').waitFor()
    const card = column('Lost').getByRole('listitem')
    await card.getByText('Door').waitFor()
    expect(await get(`/leads/${reference}`)).toMatchObject({ status: 'lost' })
    await card.dragTo(column('Appointment scheduled').getByRole('heading'))
    await said('Moved to Appointment scheduled.').waitFor()
    await column('Appointment scheduled').getByText('Door').waitFor()
    await column('Sold').getByRole('link', { name: 'Show all in the list' }).click()
    await main().getByText('1–11 of 11').waitFor()
    await link('Remove the filter Status: Sold').waitFor()
  })

  test('a viewer gets neither checkboxes nor selects of cards', async () => {
    const viewer = await newUser('viewer', 'Grace Hopper')
    await world.tenant.createLead()
    await openAs(viewer.id, '/leads')
    await row('Bay window').waitFor()
    expect(await main().getByRole('checkbox').count()).toBe(0)
    expect(await link('New lead').count()).toBe(0)
    await link('Board').click()
    await main().getByRole('region', { name: 'Open' }).getByText('Bay window').waitFor()
    expect(
      await main()
        .getByLabel(/^Status of/)
        .count(),
    ).toBe(0)
  })
})
