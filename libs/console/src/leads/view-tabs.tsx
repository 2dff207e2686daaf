import { useRef } from 'preact/hooks'
import { Link, useLocation } from 'wouter-preact'
import { Problem, renderProblem } from '../api'
import { Action } from '../parts/action'
import { Field } from '../parts/form'
import { showNotice } from '../parts/notices'
import { useQuery } from '../parts/pager'
import { me } from '../session'
import { deleteView, listBuiltInViews, readViewQuery, saveView, type View } from './views'

interface ViewTabsProps {
  /** The saved views, or the problem if they could not be loaded. */
  views: View[] | Problem
  /** Loads the saved views again. */
  refresh: () => Promise<void>
}

const SaveView = ({ name: before, refresh }: { name: string; refresh: () => Promise<void> }) => {
  const [query] = useQuery()
  const save = async (fields: FormData) => {
    const name = String(fields.get('name'))
    await saveView(name, query)
    showNotice(`The view ${name} was saved.`)
    await refresh()
  }
  return (
    <Action
      label="Save view"
      quiet
      run={save}
      question={{
        title: 'Save these filters as a view',
        yes: 'Save',
        names: ['name'],
        content: (errors) => (
          <Field
            name="name"
            label="Name"
            help="Only you see the view. A view with the same name is replaced."
            errors={errors}
          >
            {(attributes) => (
              <input
                // Renders a new field when the user has chosen another view.
                key={before}
                {...attributes}
                defaultValue={before}
                maxLength={100}
                required
                autocomplete="off"
              />
            )}
          </Field>
        ),
      }}
    />
  )
}

const DeleteView = ({ name, refresh }: { name: string; refresh: () => Promise<void> }) => (
  <Action
    label="Delete view"
    quiet
    danger
    run={async () => {
      await deleteView(name)
      showNotice(`The view ${name} was deleted.`)
      await refresh()
    }}
    question={{
      title: `Delete the view ${name}?`,
      yes: 'Delete',
      content: <p>The leads stay as they are.</p>,
    }}
  />
)

/** The views as tabs. The built-in views come first, and then the saved views. */
export const ViewTabs = ({ views, refresh }: ViewTabsProps) => {
  const [path] = useLocation()
  const [query] = useQuery()
  const isFailed = views instanceof Problem
  const saved = isFailed ? [] : views
  const shown = readViewQuery(query)
  const layout = query.get('layout')
  const renderPath = (view: View) => {
    const parameters = new URLSearchParams(view.query)
    if (layout) parameters.set('layout', layout)
    return parameters.size > 0 ? `${path}?${parameters}` : path
  }
  const builtIn = listBuiltInViews()
  const current = [...saved, ...builtIn].find((view) => view.query === shown)
  // The dialog offers the name of the view that the user has changed, to replace it.
  const chosen = useRef('')
  if (current) chosen.current = current.isSaved ? current.name : ''
  return (
    <div class="views">
      <nav aria-label="Views" class="tabs">
        {[...builtIn, ...saved].map((view) => (
          <Link
            key={`${view.isSaved} ${view.name}`}
            href={renderPath(view)}
            aria-current={view === current ? 'page' : undefined}
          >
            {view.name}
          </Link>
        ))}
      </nav>
      {me.value?.type === 'user' && !isFailed && (
        <div class="actions">
          {!current && <SaveView name={chosen.current} refresh={refresh} />}
          {current?.isSaved && <DeleteView name={current.name} refresh={refresh} />}
        </div>
      )}
      {isFailed && (
        <p class="faint" role="status">{`Your saved views can't be shown: ${renderProblem(views)}`}</p>
      )}
    </div>
  )
}
