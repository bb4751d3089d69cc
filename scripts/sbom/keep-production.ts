/** The parts of a package list from `npm sbom` (CycloneDX) that are read here. */
export interface PackageList {
  /** Each is named `<package>@<version>`. */
  readonly components: readonly { readonly 'bom-ref': string }[]
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn?: readonly string[] }[]
}

/** The parts of the lock file that are read here. It has one entry for each place where a package is installed. */
export interface LockFile {
  readonly packages: Readonly<Record<string, LockedPackage>>
}

interface LockedPackage {
  readonly version?: string
  readonly dev?: boolean
  readonly optional?: boolean
  readonly devOptional?: boolean
}

const PLACE = 'node_modules/'

/**
 * Removes the packages that only development needs, according to the lock file. `npm sbom --omit=dev` would also remove
 * packages that both the services and development need, such as the database driver.
 */
export function keepProduction<List extends PackageList>(list: List, { packages }: LockFile): List {
  const needed = Object.entries(packages).filter(([, one]) => !one.dev && !one.optional && !one.devOptional)
  const installed = needed.flatMap(([path, { version }]) => {
    const at = path.lastIndexOf(PLACE)
    return at < 0 || version === undefined ? [] : [`${path.slice(at + PLACE.length)}@${version}`]
  })
  const kept = new Set(installed)
  const components = list.components.filter((component) => kept.has(component['bom-ref']))
  const dependencies = list.dependencies
    .filter(({ ref }) => kept.has(ref))
    .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter((one) => kept.has(one)) }))
  return { ...list, components, dependencies }
}
