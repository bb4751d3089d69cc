// Adds the features that the command line uses and Node.js 20 does not have.
import 'core-js/actual/map/group-by.js'
import 'core-js/actual/promise/with-resolvers.js'
import 'core-js/actual/url/parse.js'
