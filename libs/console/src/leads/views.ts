import { api, readData, type Schemas } from '../api'
import { me } from '../session'
import { UNASSIGNED, VIEW_PARAMETERS } from './queue-filters'

type SavedView = Schemas['SavedView']

/** A view as the page shows it. `query` has the parameters of the page's URL, sorted by name. */
export interface View {
  name: string
  query: string
  /** Whether the user has saved the view. The others are built into the console. */
  isSaved: boolean
}

const renderQuery = (parameters: Record<string, unknown>): string => {
  const pairs = Object.entries(parameters).map(([name, value]): [string, string] => [name, String(value)])
  const query = new URLSearchParams(pairs)
  query.sort()
  return String(query)
}

const readSavedView = ({ name, filters, sort }: SavedView): View => ({
  name,
  query: renderQuery({ ...filters, ...(sort && { sort }) }),
  isSaved: true,
})

const createBuiltInView = (name: string, filters: Record<string, unknown> = {}): View => ({
  name,
  query: renderQuery(filters),
  isSaved: false,
})

/** Returns the built-in views. A token has no Mine, because only users own leads. */
export const listBuiltInViews = (): View[] => [
  createBuiltInView('All'),
  ...(me.value?.type === 'user' ? [createBuiltInView('Mine', { user_id: me.value.id })] : []),
  createBuiltInView('Due today', { due: 'today' }),
  createBuiltInView('Unassigned', { user_id: UNASSIGNED }),
]

/** Returns the parameters of the page's URL that a view contains, in the form of `View.query`. */
export const readViewQuery = (query: URLSearchParams): string =>
  renderQuery(Object.fromEntries([...query].filter(([name]) => VIEW_PARAMETERS.includes(name))))

export const listSavedViews = async (): Promise<View[]> =>
  (await readData(api().GET('/manage/views'))).data.map(readSavedView)

/** Saves the parameters of the page's URL under a name. Replaces the view with this name. */
export const saveView = async (name: string, query: URLSearchParams): Promise<void> => {
  const { sort, test, ...texts } = Object.fromEntries(new URLSearchParams(readViewQuery(query)))
  const filters: object = { ...texts, ...(test && { test: test === 'true' }) }
  // The API checks the values, which come from the page's URL.
  const body = { filters, sort } as Schemas['SaveViewRequest']
  await api().PUT('/manage/views/{name}', { params: { path: { name } }, body })
}

export const deleteView = async (name: string): Promise<void> =>
  void (await api().DELETE('/manage/views/{name}', { params: { path: { name } } }))
