import java.nio.file.Files;
import java.nio.file.Path;
import net.sourceforge.pmd.lang.LanguageProcessor;
import net.sourceforge.pmd.lang.LanguageProcessorRegistry;
import net.sourceforge.pmd.lang.LanguageVersion;
import net.sourceforge.pmd.lang.ast.FileAnalysisException;
import net.sourceforge.pmd.lang.ast.Parser;
import net.sourceforge.pmd.lang.ast.Parser.ParserTask;
import net.sourceforge.pmd.lang.ast.SemanticErrorReporter;
import net.sourceforge.pmd.lang.document.FileId;
import net.sourceforge.pmd.lang.document.TextDocument;
import net.sourceforge.pmd.lang.plsql.PLSQLLanguageModule;

/** Reads files as PL/SQL with PMD's parser; prints each that it does not read, and why. */
class ReadPlsql {
    public static void main(String[] files) throws Exception {
        PLSQLLanguageModule language = PLSQLLanguageModule.getInstance();
        LanguageProcessor processor = language.createProcessor(language.newPropertyBundle());
        LanguageProcessorRegistry registry = LanguageProcessorRegistry.singleton(processor);
        Parser parser = processor.services().getParser();
        LanguageVersion version = language.getDefaultVersion();
        for (String file : files) {
            String content = Files.readString(Path.of(file));
            try (TextDocument text = TextDocument.readOnlyString(content, FileId.fromPathLikeString(file), version)) {
                parser.parse(new ParserTask(text, SemanticErrorReporter.noop(), registry));
            } catch (FileAnalysisException wrong) {
                System.out.println(file + ": " + wrong.getMessage().lines().findFirst().orElse(""));
            }
        }
    }
}
