// Says where Eleventy finds the notes and their templates; they are copied into a folder of their own first.
module.exports = function (config) {
  config.addPassthroughCopy("look");
  config.addPassthroughCopy("files");
  return { dir: { input: ".", includes: "layouts", layouts: "layouts", output: "public" }, markdownTemplateEngine: false };
};
